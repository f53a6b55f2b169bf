// The pictures of the README: made again, and compared with those that are kept. The browser itself encodes and compares them.
"use strict";

const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");

// A picture as WebP, in base64.
async function encoded(page, png) {
  return page.evaluate(async ([png, quality]) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext("2d").drawImage(image, 0, 0);
    const blob = await canvas.convertToBlob({ type: "image/webp", quality });
    const bytes = new Uint8Array(await blob.arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  }, [png, 0.9]);
}

// The share of the squares of 8 by 8 pixels whose mean colour differs.
async function difference(page, kept, made) {
  return page.evaluate(async (both) => {
    const [a, b] = await Promise.all(both.map(async (text) => {
      const image = await createImageBitmap(await (await fetch(`data:image/webp;base64,${text}`)).blob());
      const canvas = new OffscreenCanvas(Math.ceil(image.width / 8), Math.ceil(image.height / 8));
      const context = canvas.getContext("2d");
      context.imageSmoothingQuality = "high";
      context.drawImage(image, 0, 0, canvas.width, canvas.height);
      return context.getImageData(0, 0, canvas.width, canvas.height);
    }));
    if (a.width !== b.width || a.height !== b.height) return 1;
    let differ = 0;
    for (let at = 0; at < a.data.length; at += 4) {
      if ([0, 1, 2].some((part) => Math.abs(a.data[at + part] - b.data[at + part]) > 24)) differ += 1;
    }
    return differ / (a.data.length / 4);
  }, [kept, made]);
}

module.exports = async (stage) => {
  const blank = await (await stage.browser.newContext()).newPage();
  for (const { name, path: place, width, height, scheme, clip } of stage.pictures) {
    const page = await stage.tab({ viewport: { width, height }, colorScheme: scheme });
    await stage.open(page, place);
    const png = await page.screenshot({ animations: "disabled", caret: "hide", clip });
    fs.writeFileSync(path.join(stage.output, `readme-${name}.png`), png);
    const made = await encoded(blank, png.toString("base64"));
    const file = path.join(stage.docs, `${name}.webp`);
    if (stage.bless) fs.writeFileSync(file, Buffer.from(made, "base64"));
    const kept = fs.existsSync(file) ? fs.readFileSync(file) : Buffer.alloc(0);
    assert.ok(kept.length > 0 && kept.length <= 80_000, `${file} has ${kept.length} bytes`);
    const share = await difference(blank, kept.toString("base64"), made);
    console.log(JSON.stringify({ say: `picture ${name}: ${(share * 100).toFixed(1)} % differ` }));
    assert.ok(share <= stage.tolerance, `${file} is not what the page shows (${share}); BLESS=1 cargo test --test views pictures`);
    await page.close();
  }
};
