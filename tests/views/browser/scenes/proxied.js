// People whom a proxy has signed in: names and groups are those that it tells, never those that a browser sends.
"use strict";

const assert = require("node:assert/strict");
const { request } = require("playwright-core");

const LISTS = ["/", "/attention", "/images", "/automations", "/kustomizations", "/sources", "/timeline"];

// The words of the main part of each list.
async function words(stage, page) {
  const all = {};
  for (const path of LISTS) {
    await stage.open(page, path);
    all[path] = await page.getByRole("main").innerText();
  }
  return all;
}

module.exports = async (stage) => {
  const as = (name, extraHTTPHeaders = {}) =>
    stage.tab({ httpCredentials: { username: name, password: `${name}'s` }, extraHTTPHeaders });
  // What the browser itself says of the answers below.
  stage.faults.expected.push(/status of 40[134]/);

  // No page to sign in at, no cookie, and nothing to sign out of.
  const ann = await as("ann");
  // The process may not have listed the objects yet, nor the API server the rights.
  for (let tries = 0; tries < 100 && (await ann.goto(stage.path)).status() === 404; tries++) {
    await ann.waitForTimeout(200);
  }
  await stage.open(ann, stage.path);
  assert.ok((await ann.locator("body").innerText()).includes("sso:ann"));
  assert.deepEqual(await ann.context().cookies(), []);
  assert.equal(await ann.getByRole("button", { name: /sign out/i }).count(), 0);
  await stage.is_fit_everywhere(ann, "behind a proxy");
  await stage.picture(ann, "behind-a-proxy");
  for (const [path, text] of Object.entries(await words(stage, ann))) {
    stage.holds(!text.includes(stage.other) && !text.includes(stage.secret), `${path} tells of ${stage.other}:\n${text}`);
  }
  for (const path of [`/kustomizations/${stage.other}/shop`, `/images/${stage.other}/web`]) {
    await stage.open(ann, path, 404);
  }

  // Streams and forms get through.
  await stage.open(ann, stage.path);
  await ann.getByText("live", { exact: true }).waitFor();
  const after = await stage.ask("commit");
  await ann.getByRole("main").getByText(after).first().waitFor();
  await ann.getByRole("button", { name: /^suspend/i }).first().click();
  await ann.waitForURL((url) => url.searchParams.get("done") === "suspend");
  assert.ok(await stage.ask("is suspended"));
  assert.ok(await stage.ask("ann has asked"));

  // Whatever somebody sends himself, or is called at the provider.
  const claims = { "X-Forwarded-User": "sso:ann", "X-Forwarded-Groups": "devs,system:masters", "X-Bumpwright-Secret": stage.guess };
  const bob = await as("bob", claims);
  await stage.open(bob, "/");
  assert.ok((await bob.locator("body").innerText()).includes("sso:bob"));
  for (const [path, text] of Object.entries(await words(stage, bob))) {
    for (const word of [stage.own, stage.other, stage.secret]) {
      stage.holds(!text.includes(word), `${path} tells somebody without rights of ${word}:\n${text}`);
    }
  }
  await stage.open(bob, stage.path, 404);
  // A form of one's own, with a token of one's own page.
  await stage.open(bob, "/");
  const csrf = await ann.locator("input[name=csrf]").first().getAttribute("value");
  const form = { csrf, action: "resume", kind: "Kustomization", namespace: stage.own, name: "app", back: "/" };
  const answer = await bob.request.post("/act", { form, maxRedirects: 0 });
  assert.equal(answer.status(), 403);
  assert.ok(await stage.ask("is suspended"));

  // Nobody gets past the proxy.
  const past = await request.newContext({ baseURL: stage.past, extraHTTPHeaders: claims });
  for (const path of [...LISTS, stage.path, "/events"]) {
    const answer = await past.get(path, { maxRedirects: 0 });
    stage.holds(answer.status() === 401, `${path} past the proxy: ${answer.status()}`);
    stage.holds(!(await answer.text()).includes(stage.own), `${path} past the proxy tells of ${stage.own}`);
  }
  await past.dispose();
};
