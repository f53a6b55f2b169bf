// Requests in their list and on their pages: three widths, both themes, both views, by keys and without script.
"use strict";

const assert = require("node:assert/strict");

const WIDTHS = [[1600, 900], [1000, 800], [360, 740]];

// Where the three parts of the page are.
async function columns(page) {
  const lefts = await page.$$eval(".pane", (all) => all.map((one) => Math.round(one.getBoundingClientRect().left)));
  return new Set(lefts).size;
}

async function everywhere(stage, page, path, name, look) {
  await stage.open(page, path);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const [width, height] of WIDTHS) {
      await page.setViewportSize({ width, height });
      await stage.is_fit(page, `${name}, ${colorScheme} at ${width} px`);
      await stage.picture(page, `reviews-${name}-${colorScheme}-${width}`);
      await look(width);
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1600, height: 900 });
}

async function views(stage, page) {
  await everywhere(stage, page, "/reviews", "list", async () => {});
  await everywhere(stage, page, stage.behind, "not-applied", async () => {});
  for (const [query, name] of [["", "unified"], ["?view=split", "split"]]) {
    await everywhere(stage, page, `${stage.path}${query}`, name, async (width) => {
      const count = await columns(page);
      stage.holds(count === (width >= 1200 ? 3 : 1), `${name}: ${count} columns at ${width} px`);
      // Nothing is cut off inside of the differences.
      const cut = await page.$$eval(".difference, .lines > div, .split td", (all) =>
        all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent.slice(0, 80)));
      stage.holds(cut.length === 0, `${name} at ${width} px is cut off: ${cut.join(" | ")}`);
    });
  }
}

async function clicks(stage, page) {
  await stage.open(page, "/reviews");
  const main = page.getByRole("main");
  await main.getByRole("link", { name: /Smaller/ }).click();
  await page.waitForURL((url) => url.pathname === stage.path);
  await main.getByRole("link", { name: "Side by side" }).click();
  await page.waitForURL(/view=split/);
  await main.getByRole("columnheader", { name: "Before" }).first().waitFor();
  await main.getByRole("link", { name: /^immutable-field/ }).click();
  await page.waitForURL(/rule=immutable-field/);
  assert.ok(page.url().includes("view=split"), page.url());
  assert.equal(await page.locator("article").count(), 1);
  assert.match(await page.locator("article").innerText(), /8Gi/);
  await main.getByRole("link", { name: "Show all" }).click();
  await page.waitForURL((url) => url.search === "");
  await main.getByRole("link", { name: /Kustomization .*\/web/ }).click();
  await page.waitForURL(/owner=/);
  assert.ok(!(await page.getByRole("main").innerText()).includes("claims can only grow"), "only what is of the owner");
}

async function keys(stage, page) {
  await stage.open(page, stage.path);
  const at = () => page.evaluate(() => document.activeElement.id);
  for (const [key, id] of [["j", "object-1"], ["j", "object-2"], ["k", "object-1"], ["k", "object-1"]]) {
    await page.keyboard.press(key);
    assert.equal(await at(), id, key);
  }
  await stage.is_fit(page, "with the focus on a difference");
  // In a field they are letters.
  await page.keyboard.press("/");
  await page.keyboard.type("jk");
  assert.equal(await page.locator("#search").inputValue(), "jk");
}

module.exports = async (stage) => {
  const page = await stage.tab();
  await stage.part("views", () => views(stage, page));
  await stage.part("clicks", () => clicks(stage, page));
  await stage.part("keys", () => keys(stage, page));
  await stage.part("groups", async () => {
    await stage.open(page, "/reviews");
    const headings = await page.getByRole("rowheader", { name: /^(Pull requests|Not applied in the cluster|Pushed by automations)$/ }).allInnerTexts();
    assert.deepEqual(headings, ["Pull requests", "Not applied in the cluster", "Pushed by automations"]);
    await page.getByRole("main").getByRole("link", { name: /not applied by db and web/ }).click();
    await page.waitForURL((url) => url.pathname === stage.behind);
    assert.match(await page.getByRole("main").innerText(), /claims can only grow/);
  });
  await stage.part("text", async () => {
    await stage.open(page, stage.path);
    assert.equal(await page.evaluate(() => window.hit), undefined);
    assert.equal(await page.locator("img").count(), 0);
    const text = await page.getByRole("main").innerText();
    assert.ok(text.includes(stage.title), text);
    assert.ok(!text.includes(stage.secret), text);
  });
  await stage.part("live", async () => {
    await stage.open(page, stage.other);
    await page.getByText("live", { exact: true }).waitFor();
    await stage.ask("push");
    await page.getByText("30Gi").first().waitFor({ timeout: 60_000 });
  });
  await stage.part("without script", async () => {
    const plain = await stage.tab({ javaScriptEnabled: false });
    await stage.open(plain, stage.path);
    await plain.getByRole("main").getByRole("link", { name: "Side by side" }).click();
    await plain.waitForURL(/view=split/);
    assert.match(await plain.getByRole("main").innerText(), /claims can only grow/);
  });
};
