// Draws the views of the page, light and dark: node pictures.mjs MODULES BROWSER SERVER HOOK SCRATCH OUT
//
// MODULES is the folder with playwright-core, OUT the folder for the pictures.

import path from "node:path";

import { startBrowser, startPage } from "./browser.mjs";
import { makeStore } from "./store.mjs";

const [modules, program, server, hook, scratch, out] = process.argv.slice(2);
const store = makeStore({ server, hook, scratch });
const page = await startPage(server, store);
const browser = await startBrowser(modules, program);
const sizes = { wide: { width: 1120, height: 760 }, narrow: { width: 360, height: 740 } };
let address = page.address;
let state;
for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of Object.entries(sizes)) {
    const locale = size === "narrow" ? "ko-KR" : "en-US";
    const context = await browser.newContext({ colorScheme, viewport, locale, storageState: state, deviceScaleFactor: 1.5 });
    const tab = await context.newPage();
    await tab.goto(address);
    await tab.waitForURL(/search/);
    state ??= await context.storageState();
    address = page.base;
    const picture = (name) => tab.screenshot({ path: path.join(out, `${name}-${size}-${colorScheme}.png`) });
    const views = {
      search: "search?q=session timeout",
      timeline: "timeline",
      review: "review",
      briefs: "briefs",
      health: "health",
      tasks: "tasks",
    };
    for (const [name, where] of Object.entries(views)) {
      await tab.goto(page.base + where);
      await tab.waitForSelector("#live *");
      await picture(name);
    }
    await tab.goto(`${page.base}search?q=charged twice`);
    await tab.click("ol.memories a.text");
    await tab.waitForSelector("article.memory");
    await picture("memory");
    await context.close();
  }
}
await browser.close();
await page.stop();
