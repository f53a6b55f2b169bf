// Plays a scene in a headless Chromium: `play.js SCENE ARGUMENTS`. The scene is a file of `scenes/`; the arguments are JSON, among them
// `chromium`, the program, and `output`, a folder for pictures. A scene that asks its test to do something writes a line of JSON to stdout and
// reads one from stdin. Whatever a page does that it never may fails the scene: see `guard`.
"use strict";

const assert = require("node:assert/strict");
const path = require("node:path");
const lines = require("node:readline").createInterface({ input: process.stdin });
const { chromium } = require("playwright-core");
const axe = require("axe-core");

const [scene, text] = process.argv.slice(2);
const given = JSON.parse(text);

// Nothing that a page of ours needs takes longer, also on a busy machine.
const TIMEOUT = 20_000;

const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Pictures are the same on each machine.
  "--force-color-profile=srgb",
  "--font-render-hinting=none",
];

// What the pages of a tab did that they never may: errors and warnings of the console, which include violations of the content security
// policy; requests to another origin; dialogs.
function guard(page, origin, faults) {
  const at = () => new URL(page.url(), "http://nowhere").pathname;
  page.on("console", (message) => {
    const is_expected = faults.expected.some((one) => one.test(message.text()));
    if (["error", "warning"].includes(message.type()) && !is_expected) faults.push(`${at()}: console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`${at()}: ${error}`));
  page.on("dialog", (dialog) => {
    faults.push(`${at()}: dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.origin !== origin) faults.push(`${at()}: request to ${request.url()}`);
  });
}

// In the page: what is wrong with its shape. Runs in the browser.
function shape() {
  const seen = (selector) => [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility());
  const broken = seen("main time, main .commit, main .revision").filter((one) => one.getClientRects().length > 1);
  const faults = broken.map((one) => `breaks in the middle: ${one.outerHTML}`);
  const size = (one) => parseFloat(getComputedStyle(one).fontSize);
  const most = Math.max(...seen("h1").map(size));
  const larger = seen("main *").filter((one) => size(one) > most);
  faults.push(...larger.map((one) => `is larger than the heading: ${one.outerHTML.slice(0, 200)}`));
  const hidden = seen(".graph").filter((one) => one.scrollWidth > one.clientWidth + 1 && innerWidth < 760);
  if (hidden.length && !seen("#graph-hint").length) faults.push("nothing says that the graph can be scrolled");
  return faults;
}

// The tools of a scene.
class Stage {
  constructor(browser) {
    this.browser = browser;
    this.faults = Object.assign([], { expected: [] });
    Object.assign(this, given);
  }

  // A tab of its own, as of another person. `options` are those of playwright's contexts.
  async tab(options = {}) {
    const context = await this.browser.newContext({
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      reducedMotion: "reduce",
      baseURL: this.url,
      ...options,
    });
    context.setDefaultTimeout(TIMEOUT);
    // Before the page's own scripts, and not subject to its policy.
    await context.addInitScript(() => {
      document.addEventListener("securitypolicyviolation", (event) =>
        console.error(`policy: ${event.violatedDirective} forbids ${event.blockedURI}`));
    });
    const page = await context.newPage();
    guard(page, new URL(this.url).origin, this.faults);
    return page;
  }

  // What has to hold; if not, the scene goes on, and fails at its end.
  holds(what, text) {
    if (!what) this.faults.push(text);
  }

  // A part of the scene: when it fails, the next one is played all the same.
  async part(name, act) {
    await act().catch((error) => this.faults.push(`${name}: ${error.stack ?? error}`));
  }

  // Asks the test to do something, and returns its answer.
  async ask(what, value = null) {
    const answer = new Promise((resolve) => lines.once("line", resolve));
    process.stdout.write(JSON.stringify({ ask: what, value }) + "\n");
    return JSON.parse(await answer);
  }

  // Goes to a path, which has to answer with this status.
  async open(page, path, status = 200) {
    const response = await page.goto(path);
    assert.equal(response.status(), status, path);
  }

  // No barriers by axe, and nothing that is wider than the window.
  async is_fit(page, as) {
    const where = `${new URL(page.url()).pathname} ${as}`;
    const width = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    this.holds(width[0] <= width[1], `${where}: ${width[0]} px wide in a window of ${width[1]} px`);
    const faults = await page.evaluate(shape);
    for (const fault of faults) this.faults.push(`${where}: ${fault}`);
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    for (const rule of found.violations) {
      const places = rule.nodes.map((node) => `${node.html.slice(0, 200)}: ${node.failureSummary}`);
      this.faults.push(`${where}: ${rule.id}, ${rule.help}: ${rule.nodes.length} times\n  ${places.slice(0, 3).join("\n  ")}`);
    }
  }

  // The same in both themes and on a phone; `look` is called in each.
  async is_fit_everywhere(page, as, look = async () => {}) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      for (const [width, height] of [[1280, 800], [360, 740]]) {
        await page.setViewportSize({ width, height });
        const how = `${colorScheme} at ${width} px`;
        await this.is_fit(page, `${as}, ${how}`);
        await look(how);
      }
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
  }

  // A picture that is kept with what the tests printed.
  async picture(page, name) {
    await page.screenshot({ path: path.join(this.output, `${name}.png`), animations: "disabled", caret: "hide" });
  }
}

async function main() {
  const browser = await chromium.launch({ executablePath: given.chromium, args: FLAGS, timeout: 60_000 });
  const stage = new Stage(browser);
  try {
    await stage.part(scene, () => require(`./scenes/${scene}.js`)(stage));
    if (stage.faults.length > 0) throw new Error(`${stage.faults.length} faults:\n${stage.faults.join("\n")}`);
  } finally {
    for (const [number, page] of browser.contexts().flatMap((context) => context.pages()).entries()) {
      await stage.picture(page, `${scene}-end-${number}`).catch(() => {});
    }
    await browser.close();
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error.message ?? error);
    process.exit(1);
  },
);
