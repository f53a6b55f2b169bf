// What commits changed, how objects are, what drifted, ages and signatures of tags: read by people with different rights, in both themes,
// on a phone, and without script.
"use strict";

const PATIENCE = 30_000;

async function sign_in(page, token) {
  await page.goto("/sign-in");
  await page.getByLabel(/token/i).fill(token);
  await page.getByRole("button", { name: /sign in/i }).click();
  await page.waitForURL((url) => url.pathname === "/");
}

// The text of a page with everything that can be unfolded, and the times that its words stand for.
async function text(page) {
  for (const summary of await page.locator("main details:not([open]) > summary").all()) await summary.click();
  const times = await page.locator("main time").evaluateAll((all) => all.map((one) => one.dateTime));
  return `${await page.getByRole("main").innerText()}\n${times.join("\n")}`;
}

// A page once it shows all that it has to: what it knows of the cluster is a second old.
async function shown(stage, page, { path, has }) {
  const end = Date.now() + PATIENCE;
  for (;;) {
    await stage.open(page, path);
    const now = await text(page);
    if (has.every((word) => now.includes(word)) || Date.now() > end) return now;
    await page.waitForTimeout(300);
  }
}

function check(stage, { path, has, lacks }, shown, as) {
  for (const word of has) stage.holds(shown.includes(word), `${path} ${as} shows ${word}, but is:\n${shown}`);
  for (const word of lacks) stage.holds(!shown.includes(word), `${path} ${as} shows ${word}:\n${shown}`);
}

module.exports = async (stage) => {
  for (const [name, { token, pages }] of Object.entries(stage.people)) {
    const page = await stage.tab();
    await sign_in(page, token);
    const plain = await stage.tab({ javaScriptEnabled: false });
    await sign_in(plain, token);
    for (const one of pages) {
      await stage.part(`${one.path} for ${name}`, async () => {
        check(stage, one, await shown(stage, page, one), `for ${name}`);
        await stage.is_fit_everywhere(page, `for ${name}`, async (as) => {
          check(stage, one, await text(page), `for ${name}, ${as}`);
          await stage.picture(page, `facts-${name}${one.path.replace(/[^a-z0-9]+/gi, "-")}-${as.replace(/[^a-z0-9]+/gi, "-")}`);
        });
        check(stage, one, await shown(stage, plain, one), `for ${name} without script`);
      });
    }
  }
};
