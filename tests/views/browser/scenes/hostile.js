// Text of objects is text: nothing of it becomes an element, a script, a link or another direction of writing.
"use strict";

const assert = require("node:assert/strict");

module.exports = async (stage) => {
  const page = await stage.tab();
  let shown = 0;
  for (const path of stage.paths) {
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
      scripts: [...document.scripts].map((script) => new URL(script.src, location).pathname),
      links: [...document.querySelectorAll("a, area, form, button[formaction], base")].map((one) => one.href?.baseVal ?? one.href ?? one.formAction ?? one.action)
        .filter((link) => !/^(https?:|[/?#])/.test(link)),
      // Whatever turns the text around it is not there as itself.
      turning: /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u0000-\u0008]/.test(document.documentElement.textContent),
    }));
    assert.deepEqual({ ...found, scripts: found.scripts.length }, {
      hit: undefined, images: 0, handlers: [], scripts: Math.min(found.scripts.length, 1), links: [], turning: false,
    }, path);
    if ((await page.locator("body").innerText()).includes(stage.text)) shown += 1;
  }
  assert.ok(shown >= stage.shown, `${stage.text} is shown as text on ${shown} pages`);
};
