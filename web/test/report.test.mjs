// A real report, as the Rust side writes it: its model has the shape of the generated types, and the page works in a browser
// without a console error, in light and dark, with mouse and keyboard.
import test from "node:test";
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const web = fileURLToPath(new URL("..", import.meta.url));
const samples = process.env.IODYNO_WEB_SAMPLES ?? mkdtempSync(join(tmpdir(), "iodyno-web-"));

function make() {
  if (existsSync(join(samples, "curve.html"))) return true;
  const cargo = spawnSync("cargo", ["test", "--locked", "--workspace", "--test", "it", "samples_for_the_web_tests"], {
    cwd: join(web, ".."), env: { ...process.env, IODYNO_WEB_SAMPLES: samples }, stdio: ["ignore", "inherit", "inherit"],
  });
  return cargo.status === 0;
}

const made = make();
const skip = made ? false : "SKIPPED: no cargo to make a report with";

test("the model has the shape of the generated types", { skip }, () => {
  const names = ["single", "curve", "cut", "compared"];
  // Strings that the types narrow would widen in a JSON import, so each sample becomes a constant of a module.
  const file = (name) => join(web, "src", `sample.${name}.check.ts`);
  const check = () => spawnSync("npx", ["tsc", "--noEmit"], { cwd: web, encoding: "utf8" });
  try {
    for (const name of names) {
      writeFileSync(file(name), `import type { ReportModel } from "./model";\nexport const sample: ReportModel = ${readFileSync(join(samples, `${name}.json`), "utf8")};\n`);
    }
    const good = check();
    assert.equal(good.status, 0, good.stdout);
    // A field that Rust does not write must be missed, too: in each of them.
    for (const name of names) writeFileSync(file(name), readFileSync(file(name), "utf8").replace(/"sentence":/, '"sentense":'));
    const broken = check();
    assert.notEqual(broken.status, 0, "the check can fail");
    for (const name of names) assert.match(broken.stdout, new RegExp(`sample\\.${name}\\.check\\.ts`), `the check can fail for ${name}`);
  } finally {
    for (const name of names) rmSync(file(name), { force: true });
  }
});

const chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

test("the page works", { skip: skip || (chromium ? false : "SKIPPED: no chromium"), timeout: 120000 }, async () => {
  const { chromium: driver } = await import("playwright-core");
  const browser = await driver.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"] });
  try {
    for (const colorScheme of ["light", "dark"]) {
      for (const name of ["single", "curve"]) {
        const page = await browser.newPage({ colorScheme, viewport: { width: 1280, height: 900 } });
        const problems = [];
        page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
        page.on("pageerror", (error) => problems.push(String(error)));
        page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) problems.push(`network: ${request.url()}`); });
        await page.goto(pathToFileURL(join(samples, `${name}.html`)).href);
        assert.ok((await page.locator("#run .plot svg").count()) >= 10, "charts are drawn");
        assert.equal(await page.locator("#static").count(), 0);
        if (name === "curve") {
          await page.locator(".pick").nth(3).click();
          assert.match(await page.locator("#run select").inputValue(), /3/);
          assert.match(page.url(), /#run=4$/);
          await page.locator("#view-sweep\\.runs th button").nth(2).click();
          assert.equal(await page.locator("#view-sweep\\.runs [aria-sort]").count(), 1);
        }
        // The cursor reads all charts of the run, by mouse and by keyboard.
        const chart = page.locator("#view-run\\.response .plot"), readout = page.locator("#view-run\\.iops .readout");
        await chart.scrollIntoViewIfNeeded();
        const box = await chart.boundingBox();
        await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
        assert.match(await readout.textContent(), /at .* s.*op\/s/);
        await page.mouse.move(2, 2);
        await chart.focus();
        await page.keyboard.press("ArrowRight");
        const first = await readout.textContent();
        await page.keyboard.press("ArrowRight");
        assert.notEqual(await readout.textContent(), first);
        // Dragging zooms, Escape shows all again.
        const labels = () => page.locator("#view-run\\.iops svg").innerHTML();
        const before = await labels();
        await page.mouse.move(box.x + 200, box.y + 60);
        await page.mouse.down();
        await page.mouse.move(box.x + 420, box.y + 60, { steps: 4 });
        await page.mouse.up();
        assert.notEqual(await labels(), before);
        await chart.focus();
        await page.keyboard.press("Escape");
        assert.equal(await labels(), before);
        // The other colours.
        const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        const colour = await ground();
        await page.locator("#theme").click();
        assert.notEqual(await ground(), colour);
        await page.emulateMedia({ media: "print" });
        await page.pdf({ format: "A4" });
        assert.deepEqual(problems, []);
        await page.close();
      }
    }
    // A comparison: verdicts have a colour beside their sign.
    const compared = await browser.newPage();
    await compared.goto(pathToFileURL(join(samples, "compared.html")).href);
    const verdict = compared.locator("#view-compare\\.figures td.tone-warning").first();
    assert.match(await verdict.textContent(), /^\? not resolved/);
    const colour = (place) => place.evaluate((cell) => getComputedStyle(cell).color);
    assert.notEqual(await colour(verdict), await colour(compared.locator("#view-compare\\.figures td").first()));
    await compared.close();
    const odd = await browser.newPage();
    const problems = [];
    odd.on("console", (message) => { if (message.type() === "error") problems.push(message.text()); });
    odd.on("pageerror", (error) => problems.push(String(error)));
    for (const name of ["cut", "empty"]) {
      await odd.goto(pathToFileURL(join(samples, `${name}.html`)).href);
      assert.match(await odd.locator("header").textContent(), name === "cut" ? /cut short/ : /Nothing was measured/);
    }
    assert.deepEqual(problems, []);
    const plain = await browser.newContext({ javaScriptEnabled: false });
    const page = await plain.newPage();
    await page.goto(pathToFileURL(join(samples, "single.html")).href);
    assert.match(await page.locator("#static").textContent(), /read.*write.*all/s);
    assert.ok((await page.locator("#static svg").count()) >= 3, "pictures without a script");
  } finally {
    await browser.close();
  }
});
