// The report page: fills #app from the embedded model. All that is not a table or the drawing of a chart is here.
import type { ReportModel, RunModel, ViewData } from "./model";
import { draw, escape, panelsHeight } from "./chart";
import type { Drawn, Window } from "./chart";
import { table } from "./table";

/** Views that get the whole width; the others stand in pairs. */
const WIDE = new Set(["run.iops", "run.response", "run.response_heatmap", "sweep.load_response", "sweep.matrix"]);
const GROUPS: [string, (id: string) => boolean][] = [
  ["Over time", (id) => ["run.iops", "run.response", "run.response_heatmap", "run.throughput", "run.service"].includes(id)],
  ["Distribution", (id) => id === "run.histogram" || id === "run.percentiles"],
  ["Queues and the load generator", (id) => ["run.queue_depth", "run.backlog", "run.wait", "run.generator"].includes(id)],
  ["The machine", (id) => id === "run.cpu" || /^(disk|controller|net|memory|system|pressure)\./.test(id)],
];

interface Chart { view: ViewData; host: HTMLElement; readout: HTMLElement; drawn: Drawn | null; stop: number | null; part: number | null; shared: Group }
interface Group { charts: Chart[]; window: Window | null }

const page = document.documentElement;
const model = JSON.parse(document.getElementById("model")?.textContent ?? "null") as ReportModel | null;
const overview: Group = { charts: [], window: null };
let detail: Group = { charts: [], window: null };
let current = 0;

function element<K extends keyof HTMLElementTagNameMap>(tag: K, cls: string, text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (cls) made.className = cls;
  if (text) made.textContent = text;
  return made;
}

function isDark(): boolean {
  const forced = page.dataset["theme"];
  return forced ? forced === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

// --- charts ---------------------------------------------------------------------------------------------------

function redraw(chart: Chart) {
  const width = Math.floor(chart.host.clientWidth);
  if (width < 50) return;
  const body = chart.view.body;
  const tall = body.kind === "panels" ? panelsHeight(body, width) : body.kind === "matrix" ? 40 + 30 * body.rows.length : body.kind === "heat" ? 250 : WIDE.has(chart.view.id) ? 260 : 220;
  chart.drawn = draw(chart.view, { width, height: tall }, chart.shared.window, isDark());
  if (!chart.drawn) return;
  chart.host.innerHTML = chart.drawn.svg;
  const pixels = chart.drawn.pixels;
  const image = chart.host.querySelector("[data-heat]");
  if (pixels && image) {
    const canvas = document.createElement("canvas");
    canvas.width = pixels.columns;
    canvas.height = pixels.rows;
    canvas.getContext("2d")?.putImageData(new ImageData(new Uint8ClampedArray(pixels.data), pixels.columns, pixels.rows), 0, 0);
    image.setAttribute("href", canvas.toDataURL());
  }
  chart.host.insertAdjacentHTML("beforeend", '<div class="cursor" hidden></div><div class="brush" hidden></div>');
  point(chart);
}

function nearest(stops: ArrayLike<number>, value: number): number | null {
  if (stops.length === 0) return null;
  let low = 0, high = stops.length - 1;
  if ((stops[0] as number) > (stops[high] as number)) {
    let best = 0;
    for (let i = 1; i < stops.length; i++) if (Math.abs((stops[i] as number) - value) < Math.abs((stops[best] as number) - value)) best = i;
    return best;
  }
  while (low < high) { const middle = (low + high) >> 1; if ((stops[middle] as number) < value) low = middle + 1; else high = middle; }
  return low > 0 && value - (stops[low - 1] as number) < (stops[low] as number) - value ? low - 1 : low;
}

function point(chart: Chart) {
  const { drawn, stop } = chart, cursor = chart.host.querySelector<HTMLElement>(".cursor");
  if (!drawn || !cursor) return;
  const at = stop === null ? undefined : drawn.stops[stop];
  if (stop === null || at === undefined) { cursor.hidden = true; chart.readout.replaceChildren(); return; }
  const part = drawn.x.of(at);
  cursor.hidden = part < -0.001 || part > 1.001;
  cursor.style.cssText = `left:${drawn.plot.x + part * drawn.plot.w}px;top:${drawn.plot.y}px;height:${drawn.plot.h}px`;
  const readings = drawn.readings(stop, chart.part);
  chart.readout.innerHTML = `<b>${escape(drawn.title(stop))}</b>` + readings.map((reading) =>
    `<span>${reading.style ? `<i class="s-${reading.style}"></i>` : ""}${escape(reading.name)} <b>${escape(reading.text)}</b></span>`).join("");
}

/** Moves the cursor of a chart and of all that share its clock. */
function move(chart: Chart, value: number | null, part: number | null) {
  const followers = chart.drawn?.time ? chart.shared.charts.filter((other) => other.drawn?.time) : [chart];
  for (const other of followers) {
    other.stop = value === null || !other.drawn ? null : nearest(other.drawn.stops, value);
    other.part = other === chart ? part : null;
    point(other);
  }
}

function zoom(group: Group, window: Window | null) {
  group.window = window;
  for (const chart of group.charts) if (chart.drawn?.time) redraw(chart);
  document.querySelectorAll<HTMLElement>(".zoomed").forEach((button) => { button.hidden = window === null; });
}

function listen(chart: Chart) {
  const { host } = chart;
  let from: number | null = null;
  const place = (event: PointerEvent) => {
    const drawn = chart.drawn as Drawn, box = host.getBoundingClientRect();
    const x = (event.clientX - box.left - drawn.plot.x) / drawn.plot.w, y = 1 - (event.clientY - box.top - drawn.plot.y) / drawn.plot.h;
    return { x: Math.min(1, Math.max(0, x)), y: y >= 0 && y <= 1 ? y : null };
  };
  host.addEventListener("pointermove", (event) => {
    if (!chart.drawn) return;
    const { x, y } = place(event);
    move(chart, chart.drawn.x.back(x), y);
    const brush = host.querySelector<HTMLElement>(".brush");
    if (from !== null && brush) {
      const { plot } = chart.drawn;
      brush.hidden = Math.abs(x - from) * plot.w < 5;
      brush.style.cssText = `left:${plot.x + Math.min(x, from) * plot.w}px;width:${Math.abs(x - from) * plot.w}px;top:${plot.y}px;height:${plot.h}px`;
    }
  });
  host.addEventListener("pointerdown", (event) => { if (chart.drawn?.time && event.button === 0) { from = place(event).x; host.setPointerCapture(event.pointerId); } });
  host.addEventListener("pointerup", (event) => {
    if (from === null || !chart.drawn) return;
    const to = place(event).x, drawn = chart.drawn, start = from;
    from = null;
    const brush = host.querySelector<HTMLElement>(".brush");
    if (brush) brush.hidden = true;
    if (Math.abs(to - start) * drawn.plot.w >= 5) zoom(chart.shared, { from: drawn.x.back(Math.min(start, to)), to: drawn.x.back(Math.max(start, to)) });
  });
  host.addEventListener("pointerleave", () => { if (from === null && document.activeElement !== host) move(chart, null, null); });
  host.addEventListener("dblclick", () => zoom(chart.shared, null));
  host.addEventListener("blur", () => move(chart, null, null));
  host.addEventListener("keydown", (event) => {
    const drawn = chart.drawn;
    if (!drawn || drawn.stops.length === 0) return;
    const last = drawn.stops.length - 1, stop = chart.stop ?? -1, leap = event.shiftKey ? 10 : 1;
    const next = event.key === "ArrowRight" ? Math.min(last, stop + leap) : event.key === "ArrowLeft" ? Math.max(0, stop < 0 ? last : stop - leap)
      : event.key === "Home" ? 0 : event.key === "End" ? last : null;
    if (event.key === "Escape") { zoom(chart.shared, null); move(chart, null, null); }
    else if (next !== null) { move(chart, drawn.stops[next] as number, null); event.preventDefault(); }
  });
}

function card(view: ViewData, shared: Group): HTMLElement {
  const figure = element("figure", WIDE.has(view.id) || view.body.kind === "table" || (view.body.kind === "panels" && view.body.panels.length > 1) ? "card wide" : "card");
  figure.id = `view-${view.id}`;
  const caption = element("figcaption", "");
  caption.append(element("h3", "", view.title));
  const right = view.body.kind === "lines" && view.body.right ? ` \u00b7 right, dotted: ${view.body.right.y.label}` : "";
  const unit = view.body.kind === "table" ? "" : view.y.label + right;
  // Of a run the page says which one it is; above, several cards may be of the same kind.
  const of = shared === overview ? view.subject : "";
  const aside = [unit && !view.title.toLowerCase().includes(unit) ? unit : "", of].filter((part) => part !== "").join(" \u00b7 ");
  if (aside) caption.append(element("span", "unit", aside));
  caption.append(element("p", "explain", view.explanation));
  figure.append(caption);
  const host = element("div", view.body.kind === "table" ? "table" : "plot");
  figure.append(host);
  if (view.body.kind === "table") {
    const runs = view.id === "sweep.runs";
    // Runs that executed commands only have no row in it.
    const driven = (model?.runs ?? []).map((_, index) => index).filter((index) => !model?.runs[index]?.is_of_commands);
    const refresh = table(host, view.body, runs ? (row) => { show(driven[row] ?? row); document.getElementById("run")?.scrollIntoView(); } : null, () => (runs ? driven.indexOf(current) : null));
    if (runs) refreshers.push(refresh);
    return figure;
  }
  host.tabIndex = 0;
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", `${view.title}. Arrow keys move the cursor, shift for ten steps, escape ends.`);
  const readout = element("p", "readout");
  readout.setAttribute("aria-live", "polite");
  figure.append(readout);
  const chart: Chart = { view, host, readout, drawn: null, stop: null, part: null, shared };
  shared.charts.push(chart);
  listen(chart);
  return figure;
}

// --- the page -------------------------------------------------------------------------------------------------

const refreshers: (() => void)[] = [];

function figures(run: RunModel): HTMLElement {
  const list = element("dl", "figures");
  for (const figure of run.figures) {
    const item = element("div", `figure ${figure.tone}`);
    item.append(element("dt", "", figure.label), element("dd", "value", figure.value));
    if (figure.detail) item.append(element("dd", "detail", figure.detail));
    list.append(item);
  }
  return list;
}

function show(index: number) {
  const run = model?.runs[index], host = document.getElementById("run");
  if (!model || !run || !host) return;
  current = index;
  detail = { charts: [], window: null };
  const parts: Node[] = [];
  const bar = element("div", "runbar");
  const heading = element("h2", "", model.runs.length > 1 ? "Run" : "The run in detail");
  bar.append(heading);
  if (model.runs.length > 1) {
    const select = element("select", "");
    select.setAttribute("aria-label", "Run");
    model.runs.forEach((each, i) => select.append(new Option(`${i + 1} of ${model.runs.length}:  ${each.title}${each.detail ? `  ${each.detail}` : ""}`, String(i), false, i === index)));
    select.addEventListener("change", () => show(Number(select.value)));
    const step = (label: string, text: string, by: number) => {
      const button = element("button", "step", text);
      button.type = "button";
      button.setAttribute("aria-label", label);
      button.disabled = !model.runs[index + by];
      button.addEventListener("click", () => { show(index + by); document.querySelector<HTMLElement>(`[aria-label="${label}"]`)?.focus(); });
      return button;
    };
    // On paper the choice is a heading.
    const title = element("span", "print", `${index + 1} of ${model.runs.length}: ${run.title} ${run.detail}`.trim());
    heading.append(" ", title);
    bar.append(step("Previous run", "\u2190", -1), select, step("Next run", "\u2192", 1));
  }
  const reset = element("button", "zoomed", "Show all time");
  reset.type = "button";
  reset.hidden = true;
  reset.addEventListener("click", () => zoom(detail, null));
  bar.append(reset);
  parts.push(bar, element("p", "sentence", run.sentence));
  // The figures of an only run stand at the top already.
  if (model.runs.length > 1) parts.push(figures(run));
  for (const warning of model.warnings.filter((each) => each.run === index && model.runs.length > 1)) parts.push(element("p", `warning tone-${warning.tone}`, warning.text));
  const left = new Set(run.views);
  const tables = run.views.filter((view) => view.body.kind === "table");
  for (const view of tables.slice(0, 1)) { left.delete(view); parts.push(card(view, detail)); }
  for (const [title, belongs] of GROUPS) {
    const views = run.views.filter((view) => left.has(view) && view.body.kind !== "table" && belongs(view.id));
    if (views.length) parts.push(element("h3", "group", title), grid(views));
    views.forEach((view) => left.delete(view));
  }
  const rest = run.views.filter((view) => left.has(view));
  if (rest.length) parts.push(element("h3", "group", "In detail"), grid(rest));
  host.replaceChildren(...parts);
  detail.charts.forEach(redraw);
  refreshers.forEach((refresh) => refresh());
  if (model.runs.length > 1) history.replaceState(null, "", `#run=${index + 1}`);

  function grid(views: ViewData[]): HTMLElement {
    const box = element("div", "grid");
    views.forEach((view) => box.append(card(view, detail)));
    fillRows(box);
    return box;
  }
}

/** An odd chart out takes the row. */
function fillRows(box: HTMLElement) {
  let half: Element | null = null;
  for (const child of box.children) {
    if (child.classList.contains("wide")) { half?.classList.add("wide"); half = null; } else half = half ? null : child;
  }
  half?.classList.add("wide");
}

function all(): Chart[] { return [...overview.charts, ...detail.charts]; }

function themeButton() {
  const button = document.getElementById("theme");
  if (!button) return;
  button.hidden = false;
  const name = () => { button.textContent = isDark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`); };
  button.addEventListener("click", () => { page.dataset["theme"] = isDark() ? "light" : "dark"; name(); all().forEach(redraw); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { name(); all().forEach(redraw); });
  name();
}

function start() {
  if (!model) return;
  page.classList.add("js");
  document.getElementById("static")?.remove();
  themeButton();
  const above = document.getElementById("overview");
  if (above && model.overview.length) {
    if (model.runs.length > 1) above.append(element("h2", "", `All ${model.runs.length} runs`));
    const box = element("div", "grid");
    model.overview.forEach((view) => box.append(card(view, overview)));
    fillRows(box);
    above.append(box);
  }
  overview.charts.forEach(redraw);
  const wanted = /^#run=(\d+)$/.exec(location.hash);
  show(wanted && model.runs[Number(wanted[1]) - 1] ? Number(wanted[1]) - 1 : Math.max(0, model.runs.findIndex((run) => !/^format($|_for_)/.test(run.title))));
  let width = innerWidth, pending = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(() => all().forEach(redraw));
  });
  let before: string | undefined;
  // What is folded away on the screen is printed, and folded again.
  let opened: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    opened.forEach((each) => { each.open = true; }); before = page.dataset["theme"]; page.dataset["theme"] = "light"; all().forEach(redraw); });
  addEventListener("afterprint", () => {
    opened.forEach((each) => { each.open = false; }); if (before) page.dataset["theme"] = before; else delete page.dataset["theme"]; all().forEach(redraw); });
}

start();
