// More tabs than a browser has connections: each page comes, and those that are too many say that they are not live.
"use strict";

const assert = require("node:assert/strict");

const TABS = 9;

module.exports = async (stage) => {
  const first = await stage.tab();
  // Somebody who goes from page to page has one stream, not one for each page.
  for (let page = 0; page < TABS; page += 1) await stage.open(first, page % 2 ? "/sources" : "/images");
  await first.getByText("live", { exact: true }).waitFor();

  stage.faults.expected.push(/status of 429/);
  const tabs = [first];
  while (tabs.length < TABS) {
    const tab = await first.context().newPage();
    await stage.open(tab, "/sources");
    tabs.push(tab);
  }
  await tabs[TABS - 1].getByText("not live", { exact: true }).waitFor();
  await first.getByText("live", { exact: true }).waitFor();
  // A tab that is closed makes room.
  for (const tab of tabs.slice(1)) await tab.close();
  await stage.open(first, "/images");
  await first.getByText("live", { exact: true }).waitFor();
  assert.equal(first.context().pages().length, 1);
};
