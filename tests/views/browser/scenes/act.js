// A person with the right reconciles and suspends by clicks; one without is told so, and nothing changes.
"use strict";

const assert = require("node:assert/strict");

async function sign_in(stage, token) {
  const page = await stage.tab();
  await page.goto(stage.path);
  await page.waitForURL(/\/sign-in/);
  await page.getByLabel(/token/i).fill(token);
  await page.getByRole("button", { name: /sign in/i }).click();
  await page.waitForURL((url) => url.pathname === stage.path);
  return page;
}

module.exports = async (stage) => {
  const allowed = await sign_in(stage, stage.allowed);
  await stage.is_fit(allowed, "with actions");
  await allowed.getByRole("button", { name: /^reconcile/i }).first().click();
  await allowed.waitForURL((url) => url.searchParams.get("done") === "reconcile");
  assert.ok(await stage.ask("is requested"));
  await allowed.getByRole("button", { name: /^suspend/i }).first().click();
  await allowed.waitForURL((url) => url.searchParams.get("done") === "suspend");
  assert.ok(await stage.ask("is suspended"));
  await allowed.getByRole("button", { name: /^resume/i }).first().click();
  await allowed.waitForURL((url) => url.searchParams.get("done") === "resume");
  assert.ok(await stage.ask("is resumed"));

  stage.faults.expected.push(/status of 403/);
  const forbidden = await sign_in(stage, stage.forbidden);
  const button = forbidden.getByRole("button", { name: /^suspend/i }).first();
  if (await button.count()) {
    await button.click();
    await forbidden.getByText(/forbidden|may not|not allowed|cannot/i).first().waitFor();
    await stage.is_fit(forbidden, "refused");
  }
  // Not by a form of one's own either.
  const csrf = await forbidden.locator("input[name=csrf]").first().getAttribute("value").catch(() => "");
  const form = { csrf, action: "suspend", kind: "Kustomization", namespace: stage.namespace, name: stage.name, back: stage.path };
  await forbidden.request.post("/act", { form, headers: { origin: new URL(stage.url).origin } });
  assert.ok(await stage.ask("is resumed"));
};
