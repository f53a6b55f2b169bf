// Without script everything can be read, and the search works.
"use strict";

module.exports = async (stage) => {
  const page = await stage.tab({ javaScriptEnabled: false });
  for (const [path, texts] of Object.entries(stage.texts)) {
    await stage.part(path, async () => {
      await stage.open(page, path);
      const shown = await page.getByRole("main").innerText();
      for (const text of texts) stage.holds(shown.includes(text), `${path} shows ${text}, but is:\n${shown}`);
    });
  }
  await stage.open(page, "/");
  const [words, found] = stage.search;
  await page.getByRole("searchbox").first().fill(words);
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/search\?/);
  await page.getByRole("main").getByRole("link", { name: found }).first().click();
  await page.waitForURL((url) => url.pathname !== "/search");
};
