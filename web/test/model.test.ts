import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Flame, ReportedStudy } from '../src/document';
import { flameBars, flameChange, flameFound, flameTree } from '../src/flame_tree';
import {
  latencyLines, latencyText, linearTicks, logTicks, marksAt, nearest, nines, nineTicks, number, panels, percent, sampledBlocks, shareAt,
  shownAtFirst, valueAt, warmUp,
} from '../src/model';

/** A study of one case whose only trial told these columns of these sources. */
function sampled(series: { source: string; name?: string; at_us: number[]; columns: Record<string, (number | null)[]> }[]): ReportedStudy {
  const trial = { block: 2, window_s: 4, sampling: { cpu_seconds: 0, series: series.map((one) => ({ name: null, ...one })) } };
  const curve = { count: 200, share: [0, 0.5, 0.9], us: [100, 2_000, 30_000] };
  return {
    study: { duration_s: 4, warm_up_s: 1, cases: [{ id: 'a', warm_up: { length_s: 3 }, findings: [{ id: 'pool-full' }, { id: 'access-log' }], trials: [{ block: 1, sampling: null }, trial] }] },
    distributions: [{ case: 'a', response: curve, service: { ...curve, us: [90, 1_000, 2_000] }, lower_bound_from_us: 25_000 }],
  } as unknown as ReportedStudy;
}

const ALL = new Set(['a']);

test('the scale of nines and back', () => {
  for (const [share, place] of [[0, 0], [0.9, 1], [0.99, 2], [0.999, 3]] as const) {
    assert.ok(Math.abs(nines(share) - place) < 1e-9);
    assert.ok(Math.abs(shareAt(place) - share) < 1e-9);
  }
  assert.deepEqual(nineTicks(2.1).map((tick) => tick.label), ['0 %', '50 %', '90 %', '99 %']);
  for (const [share, text] of [[0.5, '50 %'], [0.9, '90 %'], [0.99, '99 %'], [0.999, '99.9 %'], [0.9995, '99.95 %']] as const) {
    assert.equal(percent(share), text);
  }
});

test('numbers keep three digits, or all before the point', () => {
  for (const [value, text] of [[0, '0'], [0.01234, '0.0123'], [9.996, '10'], [12.3, '12.3'], [123.4, '123'], [12345, '12,345'], [1000, '1,000'], [0.5, '0.5']] as const) {
    assert.equal(number(value), text);
  }
});

test('axes have round ticks around their values', () => {
  assert.deepEqual(linearTicks(0).map((tick) => tick.at), [0, 0.5, 1].slice(0, linearTicks(0).length));
  assert.deepEqual(linearTicks(7.2).map((tick) => tick.label), ['0', '2', '4', '6', '8']);
  assert.deepEqual(linearTicks(4).map((tick) => tick.label), ['0', '1', '2', '3', '4']);
  for (const most of [1e-6, 0.3, 1, 99, 12_345, 1e9]) {
    const ticks = linearTicks(most);
    assert.ok(ticks.length >= 3 && ticks.length <= 6, `${most}: ${ticks.length}`);
    assert.ok((ticks.at(-1)?.at ?? 0) >= most * 0.999);
  }
  assert.deepEqual(logTicks(3, 40).map((tick) => tick.label), ['2', '5', '10', '20', '50']);
  assert.deepEqual(logTicks(0.02, 9_000).map((tick) => tick.at), [0.01, 0.1, 1, 10, 100, 1_000, 10_000]);
});

test('a latency line is in milliseconds over the scale of nines, for each clock that is asked for', () => {
  const reported = sampled([]);
  const lines = latencyLines(reported, ['response', 'service'], ALL);
  assert.deepEqual(lines.map((line) => [line.name, line.thin, line.points.length]), [['a', false, 3], ['a', true, 3]]);
  assert.deepEqual(lines[0]?.points.map((point) => point.y), [0.1, 2, 30]);
  assert.deepEqual(latencyLines(reported, ['response'], new Set()), []);
  assert.equal(latencyText(reported.distributions[0], 'response', 30), 'at least 30 ms');
  assert.equal(latencyText(reported.distributions[0], 'service', 30), '30 ms');
  assert.equal(latencyText(reported.distributions[0], 'response', 2), '2 ms');
});

test('counters become rates, and one that is reset leaves a gap', () => {
  const at_us = [0, 1e6, 2e6, 3e6];
  const of = (key: string, reported: ReportedStudy) => panels(reported, 2, ALL).find((panel) => panel.key === key)?.lines[0]?.points;
  const reported = sampled([
    { source: 'group', at_us, columns: { cpu_us: [0, 5e5, 1e5, 6e5], periods: [0, 10, 10, 20], throttled_periods: [0, 5, 5, 15] } },
    { source: 'unit', name: 'front', at_us, columns: { requests: [0, 100, null, 300] } },
    { source: 'unit', name: 'back', at_us, columns: { requests: [0, 1, 2, 3], busy_workers: [4, null, 3, 2] } },
    { source: 'listener', name: 'front', at_us: [0, 2e6], columns: { accept_queue: [1, 7] } },
  ]);
  assert.deepEqual(of('cpu', reported)?.map((point) => point.y), [0.5, null, 0.5]);
  assert.deepEqual(of('throttled', reported)?.map((point) => point.y), [50, null, 100]);
  assert.deepEqual(of('rate', reported), [{ x: 0.5, y: 100 }, { x: 2, y: 100 }], 'of the front, over the missing sample');
  assert.deepEqual(of('workers', reported)?.map((point) => point.y), [4, null, 3, 2]);
  assert.deepEqual(of('queue', reported)?.map((point) => point.y), [1, 7]);
  assert.deepEqual(
    panels(reported, 2, ALL).flatMap((panel) => panel.findings.map((found) => [panel.key, found.id, ...found.cases])),
    [['workers', 'pool-full', 'a']],
  );
  assert.deepEqual(panels(reported, 1, ALL), [], 'nothing was sampled in block 1');
  assert.deepEqual(panels(reported, 2, ALL).map((panel) => panel.key), ['rate', 'cpu', 'throttled', 'workers', 'queue']);
});

test('what the generator saw is drawn in the middle of each second, by how long that lasted', () => {
  const reported = sampled([]);
  const trial = reported.study.cases[0]?.trials[1];
  assert.ok(trial);
  trial.load_seconds = { second: [0, 1, 3], sent: [100, 220, 90], ok: [100, 200, 80], failed: [0, 4, 0], response_p50_us: [900, 1_500, null], response_p99_us: [null, 40_000, null] };
  const all = panels(reported, 2, ALL);
  assert.deepEqual(all.map((panel) => panel.key), ['throughput', 'failed', 'p50', 'p99']);
  const of = (key: string) => all.find((panel) => panel.key === key)?.lines[0]?.points;
  assert.deepEqual(of('throughput'), [{ x: 0.5, y: 100 }, { x: 2, y: 100 }, { x: 3.5, y: 80 }]);
  assert.deepEqual(of('failed')?.map((point) => point.y), [0, 2, 0]);
  assert.deepEqual(of('p50')?.map((point) => point.y), [0.9, 1.5, null]);
  assert.deepEqual(of('p99')?.map((point) => point.y), [null, 40, null]);
  trial.load_seconds.response_p99_us = [null, null, null];
  assert.ok(!panels(reported, 2, ALL).some((panel) => panel.key === 'p99'), 'no panel of what nothing told');
  assert.deepEqual(sampledBlocks(reported.study), [2]);
});

test('findings are marked when their evidence says, and others are not', () => {
  const at_us = [0, 1e6, 2e6, 3e6];
  const reported = sampled([
    { source: 'group', at_us, columns: { cpu_us: [0, 1, 2, 3], periods: [0, 10, 20, 30], throttled_periods: [0, 5, 5, 9], anonymous_bytes: [10, 95, 96, 10], oom_kills: [0, 0, 0, 1] } },
    { source: 'unit', name: 'pool', at_us, columns: { busy_workers: [3, 4, null, 4], kept_workers: [1, 0, 0, 0], restarts: [0, 0, 2, null] } },
    { source: 'unit', name: 'front', at_us, columns: { busy_workers: [1, 1, 1, 1] } },
    { source: 'listener', name: 'pool', at_us, columns: { accept_queue: [1, 8, 9, 2] } },
    { source: 'machine', at_us, columns: { listen_drops: [0, 0, 5, 5] } },
  ]);
  const one = reported.study.cases[0];
  const trial = one?.trials[1];
  assert.ok(one && trial);
  trial.load_seconds = { second: [0, 1, 2, 3], sent: [9, 9, 9, 9], ok: [9, 7, 8, 9], failed: [0, 2, 1, 0], response_p50_us: [1, 1, 1, 1], response_p99_us: [1, 1, 1, 1] };
  const found = (id: string, evidence = {}) => ({ id, severity: 'warning', text: '', advice: '', evidence });
  one.findings = [
    found('cpu-throttled'), found('pool-full', { workers: 4 }), found('backlog-full', { backlog: 8 }), found('failed-requests'),
    found('memory-near-limit', { limit_bytes: 100 }), found('oom-kills'), found('worker-restarts'), found('noisy-neighbour'), found('starving-tail'),
  ];
  const all = panels(reported, 2, ALL);
  const marks = all.flatMap((panel) => panel.marks.map((mark) => [panel.key, mark.finding, ...mark.spans.map(({ from, to }) => `${from}-${to}`)]));
  assert.deepEqual(marks, [
    ['failed', 'failed-requests', '1-3'],
    ['throttled', 'cpu-throttled', '0-1', '2-3'],
    ['memory', 'memory-near-limit', '1-2'],
    ['memory', 'oom-kills', '2-3'],
    ['workers', 'pool-full', '0-1', '3-3'],
    ['workers', 'worker-restarts', '1-2'],
    ['queue', 'backlog-full', '1-2'],
    ['errors', 'backlog-full', '1-2'],
  ]);
  assert.ok(all.some((panel) => panel.findings.some((finding) => finding.id === 'noisy-neighbour')), 'told beside its panel, without a time');
  const memory = all.find((panel) => panel.key === 'memory');
  assert.ok(memory);
  assert.deepEqual([0, 0.95, 1.5, 2.05, 2.5].map((at) => marksAt(memory, at, 0.1).map((mark) => mark.finding)), [[], ['memory-near-limit'], ['memory-near-limit'], ['memory-near-limit', 'oom-kills'], ['oom-kills']]);
  one.findings = [found('pool-full'), found('backlog-full')];
  assert.deepEqual(panels(reported, 2, ALL).flatMap((panel) => panel.marks), [], 'figures that a record lacks mark nothing');
});

test('columns of one source add up, and what one lacks is a gap', () => {
  const mebibyte = 2 ** 20;
  const reported = sampled([
    { source: 'group', at_us: [0, 1e6], columns: { anonymous_bytes: [mebibyte, 3 * mebibyte], shared_bytes: [mebibyte, null] } },
  ]);
  const [memory] = panels(reported, 2, ALL);
  assert.deepEqual(memory?.lines[0]?.points.map((point) => point.y), [2, null]);
  assert.equal(memory?.most, 2);
});

test('instances are steps up to the end of the window', () => {
  const reported = sampled([]);
  const trial = reported.study.cases[0]?.trials[1];
  assert.ok(trial);
  trial.instances = { min: 1, mean: 2, max: 3, lost: 0, course: { at_us: [0, 1e6], count: [1, 3] } };
  const [panel] = panels(reported, 2, ALL);
  assert.deepEqual(panel?.lines[0]?.points, [{ x: 0, y: 1 }, { x: 1, y: 1 }, { x: 1, y: 3 }, { x: 4, y: 3 }]);
  assert.deepEqual([panel?.key, panel?.most], ['instances', 3]);
});

test('what is pointed at is the nearest sample, unless it is far', () => {
  for (const [to, index] of [[-1, 0], [0.4, 0], [0.6, 1], [5, 1], [8, 2]] as const) assert.equal(nearest([0, 1, 10], to), index);
  const line = { name: 'a', place: 0, thin: false, points: [{ x: 0, y: 1 }, { x: 1, y: null }, { x: 10, y: 3 }] };
  assert.equal(valueAt(line, 0.3, 0.5), 1);
  assert.equal(valueAt(line, 1, 0.5), null);
  assert.equal(valueAt(line, 5, 0.5), null);
  assert.equal(valueAt({ ...line, points: [] }, 5, 0.5), null);
});

test('a study says which blocks were sampled, its longest warm-up, and which cases are drawn at first', () => {
  const reported = sampled([]);
  assert.deepEqual(sampledBlocks(reported.study), [2]);
  assert.equal(warmUp(reported.study), 3);
  const names = Array.from({ length: 12 }, (_, index) => ({ ...reported.distributions[0], case: `c${index}` }));
  const many = { ...reported, distributions: names } as ReportedStudy;
  assert.deepEqual([...shownAtFirst(many)], ['c0', 'c1', 'c2', 'c3', 'c4', 'c5']);
  assert.deepEqual([...shownAtFirst(reported)], ['a']);
});

/** A tree by columns: a name, the place of the one that called it, and two times for each node. */
function flame(nodes: [name: string, parent: number, running: number, waiting: number][]): Flame {
  const names = nodes.map(([name]) => name);
  return {
    names,
    name: nodes.map((_, place) => place),
    parent: nodes.map(([, parent]) => parent),
    running_us: nodes.map(([, , running]) => running),
    waiting_us: nodes.map(([, , , waiting]) => waiting),
  };
}

const FPM = flame([['all', 0, 100, 20], ['boot', 0, 60, 0], ['page', 0, 40, 20], ['query', 2, 10, 20]]);
const KEPT = flame([['all', 0, 40, 20], ['page', 0, 40, 20], ['query', 1, 10, 20], ['hand over', 0, 2, 0]]);

test('a flame graph is as wide as its times', () => {
  const tree = flameTree(FPM, null, 'running');
  assert.deepEqual(flameBars(tree, 0).map(({ node, from, width }) => [node.name, from, width]), [
    ['all', 0, 1], ['boot', 0, 0.6], ['page', 0.6, 0.4], ['query', 0.6, 0.1],
  ]);
  const page = tree.children.find((child) => child.name === 'page');
  assert.ok(page);
  assert.deepEqual(flameBars(page, 0).map(({ node, from, width }) => [node.name, from, width]), [
    ['all', 0, 1], ['page', 0, 1], ['query', 0, 0.25],
  ]);
  assert.equal(flameBars(tree, 0.3).length, 3);
  assert.equal(flameFound(tree, 'QUERY'), 10);
  assert.equal(flameFound(tree, 'a'), 100);
  assert.deepEqual(flameTree(FPM, null, 'waiting').children.map((child) => child.name), ['page']);
});

test('two cases are compared by what each request takes', () => {
  const tree = flameTree(FPM, KEPT, 'running');
  const of = (name: string) => tree.children.find((child) => child.name === name);
  assert.deepEqual(tree.children.map(({ name, us, beside }) => [name, us, beside]), [['boot', 60, 0], ['hand over', 0, 2], ['page', 40, 40]]);
  const [boot, page, over] = [of('boot'), of('page'), of('hand over')];
  assert.ok(boot && page && over);
  assert.equal(flameChange(boot, tree), 1);
  assert.equal(flameChange(page, tree), 0);
  assert.ok(Math.abs(flameChange(over, tree) + 0.04) < 1e-9);
  assert.equal(tree.size, 102);
});
