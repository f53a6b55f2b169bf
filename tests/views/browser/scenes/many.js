// A large cluster: pages stay small, and everything is reached by the keyboard alone.
"use strict";

const assert = require("node:assert/strict");

module.exports = async (stage) => {
  const page = await stage.tab();
  const say = (text) => console.log(JSON.stringify({ say: text }));
  // The first request waits for the watches.
  await stage.open(page, "/");
  for (const path of stage.paths) {
    const answer = await page.request.get(path, { headers: { "accept-encoding": "identity" } });
    const size = (await answer.body()).length;
    await stage.open(page, path);
    const first = await page.evaluate(() => {
      const [entry] = performance.getEntriesByType("navigation");
      return entry.responseStart - entry.requestStart;
    });
    say(`${path} with many objects: ${Math.round(size / 1000)} kB, first byte after ${first.toFixed(1)} ms`);
    stage.holds(size <= stage.most, `${path} has ${size} bytes`);
    await stage.is_fit(page, "many");
  }

  // A page that is not the first one follows what happens, and stays where it is.
  const { path, words, next, before } = stage.live;
  await stage.open(page, path);
  const main = page.getByRole("main");
  assert.equal(await main.getByText(words).count(), 0);
  await page.getByText("live", { exact: true }).waitFor();
  await stage.ask("change");
  await main.getByText(words).first().waitFor();
  assert.equal(await page.evaluate(() => location.pathname + location.search), path);
  assert.equal(await main.getByRole("link", { name: "Next page" }).getAttribute("href"), next);
  assert.equal(await main.getByRole("link", { name: "Previous page" }).getAttribute("href"), before);
  assert.equal(await main.getByRole("searchbox").inputValue(), "storefront");

  // By keyboard: the first stop leads past the head, each stop is seen, and Enter follows a link.
  await stage.open(page, "/");
  await page.keyboard.press("Tab");
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("href") ?? ""), /^#/, "the first stop skips the head");
  const stops = new Set();
  let target;
  for (let stop = 0; stop < 60 && !target; stop += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const one = document.activeElement;
      const style = getComputedStyle(one);
      const box = one.getBoundingClientRect();
      return {
        what: one.outerHTML.slice(0, 200),
        href: one.getAttribute("href"),
        is_seen: box.width > 0 && box.height > 0 && (style.outlineStyle !== "none" || style.boxShadow !== "none"),
      };
    });
    stage.holds(at.is_seen, `the focus is seen at ${at.what}`);
    stops.add(at.what);
    if (at.href === "/kustomizations") target = at;
  }
  assert.ok(target, `the Kustomizations are reached: ${[...stops].join("\n")}`);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/kustomizations$/);
};
