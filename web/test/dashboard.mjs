/**
 * Looks at a dashboard in a real browser: dashboard.mjs ADDRESS [FOLDER-FOR-SCREENSHOTS]
 *
 * Whoever runs this serves the studies that the test of crates/serve stores, adds a trial to the one that runs for each line ADD
 * that is printed here, and finishes it for FINISH. CHROMIUM names the browser.
 */

import assert from 'node:assert/strict';
import { join } from 'node:path';

import { inspect, launch, leave, run, violations, visit } from './visit.mjs';

const [address, screenshots] = process.argv.slice(2);
const browser = await launch();
const screenshot = async (page, name) => screenshots && page.screenshot({ path: join(screenshots, `dashboard-${name}`), fullPage: true });
const HISTORY = '/history?workload=markdown&runtime=nginx-fpm-runtime&metric=throughput_rps';
const PAGES = {
  list: '/',
  second: '/?page=2',
  nothing: '/?q=nothing+like+this',
  hostile: '/?q=hostile',
  study: '/study?id=study-00',
  running: '/study?id=running',
  'hostile-study': '/study?id=hostile',
  chosen: '/?a=study-03&q=study-1',
  comparison: '/compare?a=study-00&b=study-20',
  history: HISTORY,
};

const open = (path, options) => visit(browser, `${address}${path}`, (url) => url.startsWith(`${address}/`) || url.startsWith('blob:'), options);
const names = (page) => page.locator('.studies .id').allInnerTexts();

const checks = {
  async 'every page in light and dark, wide and on a phone'() {
    for (const [name, path] of Object.entries(PAGES)) await inspect(name, (options) => open(path, options), screenshot);
  },

  async 'studies are searched, filtered and set beside each other, without a script'() {
    const { page, close } = await open('/', { javaScriptEnabled: false });
    const all = await names(page);
    assert.equal(all.length, 25, `${all}`);
    // Each says what it comes to, where it was measured, and shows it.
    assert.match(await page.locator('.studies h2').last().innerText(), /^(Ship|Undecided|No runtime)/);
    assert.ok((await page.locator('.studies svg.picture').count()) >= 24);
    assert.match(await page.locator('.studies li').first().innerText(), /Machine: \d+ CPUs/);
    await page.getByRole('searchbox').fill('study-1');
    await leave(page, page.getByRole('button', { name: 'Search' }).click());
    assert.equal((await names(page)).length, 10);
    await page.getByLabel('State').selectOption('unfinished');
    await leave(page, page.getByRole('button', { name: 'Search' }).click());
    assert.match(await page.locator('main').innerText(), /No stored study matches/);
    await leave(page, page.getByRole('link', { name: 'show all' }).click());
    assert.deepEqual(await names(page), all);
    // The first is remembered by the address: the second is found in another list.
    await leave(page, page.getByRole('link', { name: 'choose as A: study-03' }).click());
    await page.getByRole('searchbox').fill('study-2');
    await leave(page, page.getByRole('button', { name: 'Search' }).click());
    assert.equal((await names(page)).length, 4);
    await leave(page, page.getByRole('link', { name: 'compare with A: study-20' }).click());
    assert.match(await page.locator('h1').innerText(), /^markdown on .* two studies$/);
    assert.match(await page.locator('main').innerText(), /study-03[^]*study-20/);
    assert.match(await page.locator('main').innerText(), /\b0\.(68|69|70|71)\d\b/);
    await close();
  },

  async 'a metric over time has its points, its change of level, and leads to studies'() {
    const { page, close } = await open(HISTORY);
    assert.equal(await page.locator('svg.history circle').count(), 24);
    assert.equal(await page.locator('svg.history line.change').count(), 1);
    const change = page.getByRole('link', { name: /^study-12, .* from .* to / });
    assert.match(await change.innerText(), /from [\d.,]+ to [\d.,]+, from revision aaaaaaaaa5 to aaaaaaaaa6/);
    assert.equal(await page.locator('svg.history svg text').count(), 24);
    await page.getByLabel('Metric').selectOption('response_p99_us');
    await leave(page, page.getByRole('button', { name: 'Draw' }).click());
    assert.match(page.url(), /metric=response_p99_us/);
    assert.equal(await page.locator('svg.history line.change').count(), 0);
    await page.goBack();
    await leave(page, change.click());
    assert.match(await page.locator('h1').innerText(), /^markdown on /);
    assert.match(await page.locator('.origin').innerText(), /study-12/);
    await close();
  },

  async 'pages are used with keys alone'() {
    const { page, close } = await open('/');
    await page.keyboard.press('Tab');
    assert.match(await page.evaluate(() => document.activeElement.className), /skip/);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.type('hostile');
    await page.keyboard.press('Enter');
    await page.waitForURL(/q=hostile/);
    assert.deepEqual(await names(page), ['hostile']);
    await close();
  },

  async 'a study that is measured is followed to its end'() {
    const { page, faults, close } = await open(PAGES.running);
    const status = page.locator('#live [role=status]');
    const dots = () => page.locator('#live svg.dots circle').count();
    assert.match(await status.innerText(), /^1 of /);
    assert.equal(await dots(), 1);
    assert.match(await page.title(), /^1\/\d+ /);
    // The focus stays where it is in the part that is updated.
    await page.locator('#live [role=region]').focus();
    for (let trials = 2; trials <= 4; trials += 1) {
      console.log('ADD');
      await status.filter({ hasText: new RegExp(`^${trials} of `) }).waitFor({ timeout: 20_000 });
      assert.equal(await dots(), trials);
      assert.match(await page.title(), new RegExp(`^${trials}/`));
      assert.equal(await page.locator('#live .newest li').count(), trials);
      assert.equal(await page.locator('#live .dot.newest').count(), 1);
    }
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'region');
    assert.deepEqual(await violations(page), []);
    await screenshot(page, 'followed.png');
    console.log('FINISH');
    await page.locator('#live').waitFor({ state: 'detached', timeout: 20_000 });
    assert.match(await page.locator('.origin').innerText(), /running/);
    assert.deepEqual(faults, []);
    await close();
  },
};

await run(browser, checks);
