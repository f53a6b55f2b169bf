// A page follows what happens without being loaded again: focus, what is typed and the place in the page stay.
"use strict";

const assert = require("node:assert/strict");

module.exports = async (stage) => {
  // So small that the page can be scrolled.
  const page = await stage.tab({ viewport: { width: 800, height: 300 } });
  await stage.open(page, stage.path);
  const before = await page.getByRole("main").innerText();
  assert.ok(before.includes(stage.before), before);
  const search = page.getByRole("searchbox").first();
  await search.fill("half a wo");
  await page.evaluate(() => {
    window.mark = "not loaded again";
    window.scrollTo(0, 120);
  });
  const y = await page.evaluate(() => window.scrollY);
  assert.ok(y > 0, "the page can be scrolled");
  const link = page.getByRole("main").getByRole("link", { name: stage.link }).first();
  await link.focus({ preventScroll: true });
  const at = await page.evaluate(() => [document.activeElement.getAttribute("href"), window.scrollY]);

  const after = await stage.ask("commit");
  await page.getByRole("main").getByText(after).first().waitFor();
  assert.equal(await page.evaluate(() => window.mark), "not loaded again");
  assert.deepEqual(await page.evaluate(() => [document.activeElement.getAttribute("href"), window.scrollY]), at);
  assert.equal(await search.inputValue(), "half a wo");
  // A screen reader does not read all of it again.
  assert.equal(await page.locator("main [aria-live=assertive]").count(), 0);
};
