// Text of objects is text: nothing of it becomes an element, a script, a link or another direction of writing.
"use strict";

const assert = require("node:assert/strict");

module.exports = async (stage) => {
  const page = await stage.tab();
  // What the browser says of pages that are nowhere.
  stage.faults.expected.push(/status of 404/);
  let shown = 0;
  for (const path of stage.paths) {
    await stage.part(path, async () => {
      const response = await page.goto(path);
      assert.ok([200, 404].includes(response.status()), `${path}: ${response.status()}`);
      await stage.is_fit(page, "hostile");
      await page.setViewportSize({ width: 360, height: 740 });
      await stage.is_fit(page, "hostile at 360 px");
      await stage.picture(page, `hostile${path.slice(0, 80).replace(/[^a-z0-9]+/gi, "-")}`);
      await page.setViewportSize({ width: 1280, height: 800 });
      const found = await page.evaluate(() => ({
        hit: window.hit,
        images: document.querySelectorAll("img").length,
        handlers: [...document.querySelectorAll("*")].flatMap((one) => one.getAttributeNames()).filter((name) => name.startsWith("on")),
        // Ours, which has a path of its own.
        scripts: [...document.scripts].filter((script) => !new URL(script.src, location).pathname.startsWith("/assets/")).length,
        links: [...document.querySelectorAll("a, form")].map((one) => one.href?.baseVal ?? one.href ?? one.action)
          .filter((link) => !/^(https?:|[/?#])/.test(link)),
        // Whatever turns the text around it is not there as itself.
        turning: /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u0000-\u0008]/.test(document.documentElement.textContent),
      }));
      assert.deepEqual(found, { hit: undefined, images: 0, handlers: [], scripts: 0, links: [], turning: false }, path);
      if ((await page.locator("body").innerText()).includes(stage.text)) shown += 1;
    });
  }
  assert.ok(shown >= stage.shown, `${stage.text} is shown as text on ${shown} pages`);
};
