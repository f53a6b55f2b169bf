// Every page, reached by clicks from the first one: each is whole, and without barriers in both themes and on a phone.
"use strict";

const assert = require("node:assert/strict");

// Pages of one shape have one template: two of them are enough.
const ENOUGH = 2;

function shape(path) {
  const url = new URL(path, "http://nowhere");
  const parts = url.pathname.split("/").slice(1);
  // Kinds of sources and objects differ, names do not.
  const kinds = parts.length > 3 ? parts.slice(0, -2) : parts.slice(0, 1);
  return [...kinds, parts.length, ...[...url.searchParams.keys()].sort()].join(" ");
}

class Walk {
  constructor(stage, page) {
    Object.assign(this, { stage, page, seen: new Map(), shapes: new Map(), titles: new Map() });
  }

  // Looks at this page, then goes on by its links and comes back.
  async visit() {
    const { page } = this;
    const here = page.url();
    const path = here.slice(this.stage.url.length);
    await this.look(path);
    const links = await page.$$eval("a[href]", (all) =>
      all.filter((link) => link.checkVisibility()).map((link) => link.getAttribute("href")));
    for (const link of links) {
      const target = new URL(link, here);
      if (target.origin !== new URL(this.stage.url).origin || target.hash) {
        continue;
      }
      const [to, kind] = [target.href.slice(this.stage.url.length), shape(target.href)];
      if (this.seen.has(to) || (this.shapes.get(kind) ?? 0) >= ENOUGH) continue;
      this.shapes.set(kind, (this.shapes.get(kind) ?? 0) + 1);
      this.seen.set(to, path);
      await this.stage.part(`${path} to ${to}`, async () => {
        const answer = page.waitForResponse((response) => response.url() === target.href);
        await page.locator(`a[href=${JSON.stringify(link)}]:visible`).first().click();
        assert.equal((await answer).status(), 200);
        await page.waitForURL(target.href);
        await this.visit();
      });
      await page.goto(here);
    }
  }

  async look(path) {
    const { page, stage } = this;
    const title = await page.title();
    stage.holds(title !== "", `${path} has no title`);
    stage.holds((await page.getByRole("heading", { level: 1 }).count()) === 1, `${path}: one heading of level 1`);
    stage.holds((await page.getByRole("main").count()) === 1, `${path}: one main part`);
    await stage.is_fit(page, "light");
    await page.emulateMedia({ colorScheme: "dark" });
    await stage.is_fit(page, "dark");
    await page.setViewportSize({ width: 360, height: 740 });
    await stage.is_fit(page, "at 360 px");
    await stage.picture(page, `phone${path.replace(/[^a-z0-9]+/gi, "-")}`);
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    await stage.picture(page, `page${path.replace(/[^a-z0-9]+/gi, "-")}`);
    this.titles.set(path, title);
  }
}

module.exports = async (stage) => {
  const page = await stage.tab();
  const walk = new Walk(stage, page);
  await stage.open(page, "/");
  walk.seen.set("/", null);
  await walk.visit();
  for (const path of stage.pages) stage.holds(walk.titles.has(path), `no link leads to ${path}`);

  // From every page: the search.
  const [words, found] = stage.search;
  const search = page.getByRole("searchbox").first();
  await search.fill(words);
  await search.press("Enter");
  await page.waitForURL(/\/search\?/);
  await walk.look("/search");
  await page.getByRole("main").getByRole("link", { name: found }).first().click();
  await page.waitForURL((url) => url.pathname !== "/search");
  console.log(JSON.stringify({ say: `pages in a browser: ${walk.titles.size} of ${walk.titles.size} without barriers` }));
};
