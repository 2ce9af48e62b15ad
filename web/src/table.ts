// Sortable, searchable tables. Touches the DOM through one element that it fills.
import { decode } from "./model";
import type { TableColumn, TableBody } from "./model";
import { formatCell, headingUnit } from "./format";

const TALL = 25;
/** Sentences have several lines: a page is not as wide as they are. */
const LONG = 60;

interface Prepared { column: TableColumn; text: string[]; numbers: Float64Array | null }

function prepare(column: TableColumn): Prepared {
  if (column.cells.kind === "text") return { column, text: column.cells.of, numbers: null };
  const numbers = decode(column.cells.of);
  return { column, text: Array.from(numbers, (value) => formatCell(column.unit, value)), numbers };
}

/** Row numbers in the order of a column; missing values last. */
export function order(count: number, by: { text: string[]; numbers: Float64Array | null } | null, down: boolean): number[] {
  const rows = Array.from({ length: count }, (_, row) => row);
  if (!by) return rows;
  const sign = down ? -1 : 1;
  const numbers = by.numbers;
  if (!numbers) return rows.sort((a, b) => sign * (by.text[a] as string).localeCompare(by.text[b] as string, "en", { numeric: true }));
  return rows.sort((a, b) => {
    const left = numbers[a] as number, right = numbers[b] as number;
    if (Number.isNaN(left) || Number.isNaN(right)) return Number(Number.isNaN(left)) - Number(Number.isNaN(right));
    return sign * (left - right) || a - b;
  });
}

/** Fills `host` with the table; `pick` makes the first column a button that chooses the row. */
export function table(host: HTMLElement, body: TableBody, pick: ((row: number) => void) | null, chosen: () => number | null): () => void {
  const columns = body.columns.map(prepare);
  const count = columns[0]?.text.length ?? 0;
  let sorted: number | null = null, down = true, needle = "";

  const grouped = columns.some((c) => c.column.group);
  const groups: { name: string; span: number }[] = [];
  for (const { column } of columns) {
    const last = groups[groups.length - 1];
    if (last && last.name === column.group) last.span++; else groups.push({ name: column.group, span: 1 });
  }
  host.innerHTML = "";
  const box = document.createElement("div");
  box.className = count > TALL ? "scroll tall" : "scroll";
  if (count > TALL) {
    const filter = document.createElement("input");
    filter.type = "search";
    filter.placeholder = `Filter ${count.toLocaleString("en")} rows`;
    filter.setAttribute("aria-label", "Filter the rows by text");
    filter.className = "filter";
    filter.addEventListener("input", () => { needle = filter.value.toLowerCase(); fill(); });
    host.append(filter);
    box.tabIndex = 0;
    box.setAttribute("aria-label", "Table, scrollable");
    box.setAttribute("role", "region");
  }
  const element = document.createElement("table");
  // On paper wide tables are set smaller rather than cut.
  if (body.columns.length > 12) element.className = "many";
  const head = element.createTHead();
  if (grouped) {
    const row = head.insertRow();
    row.className = "groups";
    for (const group of groups) {
      const cell = document.createElement("th");
      cell.colSpan = group.span;
      cell.scope = "colgroup";
      cell.textContent = group.name;
      row.append(cell);
    }
  }
  const row = head.insertRow();
  const headings = columns.map(({ column, numbers }, index) => {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.className = numbers ? "number" : "";
    const button = document.createElement("button");
    button.type = "button";
    const unit = headingUnit(column.unit);
    button.innerHTML = "";
    button.append(column.name);
    if (unit) { const small = document.createElement("small"); small.textContent = ` ${unit}`; button.append(small); }
    button.addEventListener("click", () => {
      if (sorted === index) { if (down === Boolean(numbers)) down = !down; else { sorted = null; } } else { sorted = index; down = Boolean(numbers); }
      fill();
    });
    cell.append(button);
    row.append(cell);
    return cell;
  });
  const content = element.createTBody();
  box.append(element);
  host.append(box);
  if (body.omitted > 0) {
    const note = document.createElement("p");
    note.className = "note";
    note.textContent = `${body.omitted.toLocaleString("en")} further rows are left out here; iodyno export writes all of them.`;
    host.append(note);
  }

  function fill() {
    headings.forEach((cell, index) => {
      if (sorted === index) cell.setAttribute("aria-sort", down ? "descending" : "ascending"); else cell.removeAttribute("aria-sort");
    });
    const rows = order(count, sorted === null ? null : columns[sorted] ?? null, down);
    const fragment = document.createDocumentFragment();
    for (const index of rows) {
      if (needle && !columns.some((c) => !c.numbers && (c.text[index] as string).toLowerCase().includes(needle))) continue;
      const line = document.createElement("tr");
      if (pick && chosen() === index) line.className = "chosen";
      columns.forEach(({ column, text, numbers }, c) => {
        const cell = document.createElement(c === 0 ? "th" : "td");
        if (c === 0) cell.scope = "row";
        if (numbers) cell.className = "number";
        else if ((text[index] as string).length > LONG) cell.className = "long";
        const tone = column.tones?.[index] ?? "plain";
        if (tone !== "plain") cell.classList.add(`tone-${tone}`);
        if (pick && c === 0) {
          const button = document.createElement("button");
          button.type = "button";
          button.className = "pick";
          button.textContent = text[index] as string;
          button.addEventListener("click", () => pick(index));
          cell.append(button);
        } else {
          cell.textContent = text[index] as string;
        }
        line.append(cell);
      });
      fragment.append(line);
    }
    content.replaceChildren(fragment);
  }
  fill();
  return fill;
}
