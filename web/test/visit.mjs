/** Visits pages in a real browser, and collects whatever they should not do. CHROMIUM names the browser. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const SIZES = { wide: { width: 1280, height: 900 }, phone: { width: 360, height: 740 } };

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu'],
  });
}

/** Opens a page in a context of its own; `mayAsk` tells which addresses it may ask for. */
export async function visit(browser, address, mayAsk, options = {}) {
  const context = await browser.newContext({ viewport: SIZES.wide, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`) && void dialog.dismiss());
  page.on('request', (request) => {
    if (!mayAsk(request.url())) faults.push(`request: ${request.url()}`);
  });
  const began = performance.now();
  await page.goto(address);
  return { page, faults, began, close: () => context.close() };
}

/** Waits until what was just changed is drawn: plots draw themselves when a frame has given them their width. */
export function drawn(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))));
}

/** Does what leads to another page, and waits for that page. */
export async function leave(page, action) {
  await Promise.all([page.waitForEvent('load'), action]);
}

/** What axe finds, as lines. */
export async function violations(page) {
  await page.evaluate(axe);
  // Nobody reads which elements are right: axe does not write down where each of them is.
  const options = { runOnly: { type: 'tag', values: RULES }, resultTypes: ['violations'] };
  const found = await page.evaluate((options) => globalThis.axe.run(options), options);
  return found.violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`);
}

/** By how many pixels a page is wider than the screen. */
function excess(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
}

/**
 * Looks at a page wide in light and on a phone in dark with all that axe knows, and at each in the other colours for its width;
 * `open` opens it with the options of a context.
 */
export async function inspect(name, open, screenshot) {
  for (const [size, colorScheme, other] of [['wide', 'light', 'dark'], ['phone', 'dark', 'light']]) {
    const { page, faults, close } = await open({ colorScheme, viewport: SIZES[size] });
    for (const scheme of [colorScheme, other]) {
      const what = `${name}, ${scheme}, ${size}`;
      await page.emulateMedia({ colorScheme: scheme });
      await drawn(page);
      const wide = await excess(page);
      assert.ok(wide <= 0, `${what}: ${wide} px too wide`);
      if (scheme === colorScheme) assert.deepEqual(await violations(page), [], what);
      await screenshot(page, `${name}-${scheme}-${size}.png`);
      assert.deepEqual(faults, [], what);
      assert.equal(await page.evaluate(() => globalThis.hacked), undefined, what);
    }
    await close();
  }
}

/** Does every check, and ends with how that went. */
export async function run(browser, checks) {
  let failed = 0;
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok   ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}\n${error.message}`);
    }
  }
  await browser.close();
  process.exit(failed > 0 ? 1 : 0);
}
