// Somebody signs in with a token, sees the own namespace and nothing of another one, and signs out.
"use strict";

const assert = require("node:assert/strict");

async function enter(page, token) {
  await page.getByLabel(/token/i).fill(token);
  await page.getByRole("button", { name: /sign in/i }).click();
}

module.exports = async (stage) => {
  const page = await stage.tab();
  // What the browser itself says of the answers below.
  stage.faults.expected.push(/status of 40[134]/);

  // Somebody who is not known is asked, and brought to where they wanted to go.
  const wanted = `/kustomizations/${stage.own}/app`;
  await page.goto(wanted);
  await page.waitForURL(/\/sign-in/);
  await stage.is_fit(page, "sign in");
  await enter(page, "not-a-token");
  await page.getByRole("alert").waitFor();
  await stage.is_fit(page, "sign in, refused");
  await enter(page, stage.token);
  await page.waitForURL((url) => url.pathname === wanted);
  assert.ok((await page.locator("body").innerText()).includes(stage.person));

  // The token is in no place where a script or a link could reach it.
  const cookies = await page.context().cookies();
  assert.equal(cookies.length, 1, JSON.stringify(cookies));
  assert.ok(cookies[0].httpOnly && cookies[0].sameSite === "Strict", JSON.stringify(cookies));
  assert.equal(await page.evaluate(() => document.cookie + JSON.stringify(localStorage)), "{}");
  assert.ok(!page.url().includes(stage.token) && !(await page.content()).includes(stage.token));

  for (const path of ["/", "/attention", "/images", "/automations", "/kustomizations", "/sources", "/timeline",
    `/search?q=${stage.other}`, "/search?q=app"]) {
    await stage.open(page, path);
    const text = await page.getByRole("main").innerText();
    // What was searched for is shown.
    const told = path.includes("?q=") ? text.replaceAll(`for ${stage.other}`, "") : text;
    stage.holds(!told.includes(stage.other) && !told.includes(stage.secret), `${path} tells of ${stage.other}:\n${text}`);
  }
  await stage.open(page, "/kustomizations");
  await page.getByRole("main").getByRole("link", { name: /app/ }).first().waitFor();
  for (const path of stage.forbidden) {
    const response = await page.goto(path);
    stage.holds([403, 404].includes(response.status()), `${path}: ${response.status()}`);
    stage.holds(!(await page.content()).includes(stage.secret), path);
  }

  // A request from another page cannot sign somebody out or in.
  for (const path of ["/sign-out", "/act"]) {
    const answer = await page.request.post(path, { form: {}, headers: { origin: "http://evil.example" }, maxRedirects: 0 });
    stage.holds([400, 403, 404, 405].includes(answer.status()), `${path}: ${answer.status()}`);
  }
  await stage.open(page, "/");
  await page.getByRole("button", { name: /sign out/i }).click();
  await page.waitForURL(/\/sign-in/);
  assert.deepEqual(await page.context().cookies(), []);
  await page.goto("/kustomizations");
  await page.waitForURL(/\/sign-in/);
};
