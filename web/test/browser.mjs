/**
 * Looks at reports in a real browser: browser.mjs FOLDER-OF-PAGES [FOLDER-FOR-SCREENSHOTS]
 *
 * Every page must ask the network for nothing, say nothing on the console, and have nothing that axe finds, in light and dark,
 * on a wide screen and a phone's. CHROMIUM names the browser.
 */

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import { drawn, inspect, launch, run, violations, visit } from './visit.mjs';

const [folder, screenshots] = process.argv.slice(2);
const pages = readdirSync(folder).filter((name) => name.endsWith('.html')).sort();
assert.ok(pages.length > 0, `no pages in ${folder}`);
const browser = await launch();
const screenshot = async (page, name) => screenshots && page.screenshot({ path: join(screenshots, name), fullPage: true });

/** Opens a report, which may ask for nothing but itself. */
async function open(name, options = {}) {
  const address = pathToFileURL(resolve(folder, name)).href;
  const visited = await visit(browser, address, (url) => url.split('#')[0] === address || url.startsWith('blob:'), options);
  if (options.javaScriptEnabled !== false) await visited.page.waitForSelector('html[data-ready]', { state: 'attached', timeout: 20_000 });
  const took = performance.now() - visited.began;
  if (options.javaScriptEnabled !== false) await drawn(visited.page);
  return { ...visited, took };
}

const checks = {
  async 'every page in light and dark, wide and on a phone'() {
    for (const name of pages.filter((name) => name !== 'fifty.html')) {
      await inspect(name, (options) => open(name, options), screenshot);
    }
  },

  async 'every plot has data'() {
    const { page, close } = await open('twelve.html');
    const dots = await page.locator('svg.dots').evaluateAll((all) => all.map((one) => one.querySelectorAll('circle').length));
    assert.ok(dots.length >= 4 && dots.every((count) => count >= 12), `dots: ${dots}`);
    const paths = await page.locator('svg.plot').evaluateAll((all) =>
      all.map((one) => [...one.querySelectorAll('path.line')].map((path) => path.getAttribute('d').length)),
    );
    assert.ok(paths.length >= 6, `${paths.length} plots`);
    // What the load generator saw, and what was sampled beside it.
    const titles = await page.locator('[data-plot="course"] .panel').allInnerTexts();
    for (const title of ['right answers per second', 'failed requests per second', 'p50 of each second', 'p99 of each second', 'CPUs in use', 'busy workers']) {
      assert.ok(titles.some((one) => one.includes(title)), `${title}: ${titles.join('; ')}`);
    }
    assert.ok((await page.locator('[data-plot="course"] .moments rect').count()) > 0, 'a finding has its moments');
    for (const lengths of paths) assert.ok(lengths.length === 6 && lengths.every((length) => length > 20), `lines: ${lengths}`);
    await close();
  },

  async 'cases are shown and hidden in all plots, and clocks and blocks are chosen'() {
    const { page, close } = await open('twelve.html');
    const lines = (plot) => page.locator(`[data-plot="${plot}"] svg.plot`).first().locator('path.line').count();
    const boxes = page.locator('[data-plot="latency"] input[type=checkbox]');
    assert.equal(await boxes.count(), 12);
    await boxes.nth(0).uncheck();
    await drawn(page);
    assert.deepEqual([await lines('latency'), await lines('course')], [5, 5]);
    assert.equal(await page.locator('[data-plot="course"] input[type=checkbox]').nth(0).isChecked(), false);
    await page.locator('[data-plot="latency"] select').selectOption('both');
    await drawn(page);
    assert.equal(await lines('latency'), 10);
    const course = () => page.locator('[data-plot="course"] svg.plot path.line').first().getAttribute('d');
    const before = await course();
    await page.locator('[data-plot="course"] select').selectOption('2');
    await drawn(page);
    assert.notEqual(await course(), before);
    for (let index = 1; index < 12; index += 1) await boxes.nth(index).uncheck();
    await drawn(page);
    assert.equal(await page.locator('svg.plot').count(), 0);
    await close();
  },

  async 'values are read with a pointer and with keys alone'() {
    const { page, close } = await open('twelve.html');
    const latency = page.locator('[data-plot="latency"]');
    const stage = latency.locator('[role=slider]');
    await stage.hover();
    assert.match(await latency.locator('.readout').innerText(), /%[\s\S]*ms/);
    await page.mouse.move(0, 0);
    assert.equal(await latency.locator('.readout').innerText(), '');

    // By keys: the first stop is the link that skips to the result, and every plot comes in its turn.
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate(() => document.activeElement.className), /skip/);
    const reached = [];
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab');
      if ((await page.evaluate(() => document.activeElement.getAttribute('role'))) !== 'slider') continue;
      reached.push(await page.evaluate(() => document.activeElement.getAttribute('aria-label')));
      const value = () => page.evaluate(() => document.activeElement.getAttribute('aria-valuetext'));
      await page.keyboard.press('Home');
      const first = await value();
      await page.keyboard.press('End');
      const last = await value();
      await page.keyboard.press('ArrowLeft');
      assert.ok(first && last && first !== last && (await value()) !== last, `${first} / ${last}`);
    }
    assert.equal(new Set(reached).size, 2, `plots reached: ${reached}`);
    await close();
  },

  async 'the data can be taken out as JSON and CSV'() {
    const { page, close } = await open('twelve.html');
    const taken = async (button) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.click(button)]);
      return [download.suggestedFilename(), readFileSync(await download.path(), 'utf8')];
    };
    const [jsonName, json] = await taken('#json');
    const report = JSON.parse(json);
    assert.match(jsonName, /\.json$/);
    assert.equal(report.schema, 'stampede/report/v1');
    assert.equal(report.studies[0].study.cases.length, 12);
    const [csvName, csv] = await taken('#csv');
    assert.match(csvName, /\.csv$/);
    assert.equal(csv.trim().split('\n').length, 1 + report.studies[0].study.cases.flatMap((one) => one.trials).length);
    await close();
  },

  async 'only what differs is left of the configuration'() {
    const { page, close } = await open('twelve.html');
    const rows = () => page.locator('.configuration tbody tr:visible').count();
    const before = await rows();
    await page.locator('.configuration input').check();
    const after = await rows();
    assert.ok(after > 0 && after < before, `${before} and ${after} rows`);
    await close();
  },

  async 'a page without a script has its result, tables and charts'() {
    const { page, close } = await open('twelve.html', { javaScriptEnabled: false });
    assert.match(await page.locator('.lead').first().innerText(), /Ship |Undecided between/);
    assert.ok((await page.locator('table').count()) >= 6);
    assert.ok(await page.locator('svg.dots').first().isVisible());
    assert.ok(await page.locator('noscript').first().isVisible());
    assert.equal(await page.locator('[data-plot]:visible').count(), 0);
    await close();
  },

  async 'a study of 50 cases with 20 trials each opens quickly'() {
    if (!pages.includes('fifty.html')) return;
    const { page, took, faults, close } = await open('fifty.html');
    assert.deepEqual(faults, []);
    assert.equal(await page.locator('svg.dots').first().locator('circle').count(), 1000);
    console.log(`  interactive after ${Math.round(took)} ms`);
    assert.ok(took < 10_000, `${took} ms`);
    // Long tables are made when they are opened.
    const trials = page.locator('[id$="-trials"] details');
    assert.equal(await trials.locator('tr').count(), 0);
    await trials.locator('summary').click();
    await trials.locator('tr').nth(1000).waitFor({ state: 'attached' });
    // Its rows and dots are alike: the first of them stand for all.
    await page.evaluate(() => {
      for (const one of document.querySelectorAll('[id$="-trials"] tr:nth-child(n + 20), svg.dots circle:nth-of-type(n + 20)')) one.remove();
    });
    assert.deepEqual(await violations(page), []);
    await close();
    const { page: plain, close: leave } = await open('fifty.html', { javaScriptEnabled: false });
    assert.equal(await plain.locator('[id$="-trials"] tr').count(), 1001);
    await leave();
  },
};

await run(browser, checks);
