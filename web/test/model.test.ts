import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ReportedStudy } from '../src/document';
import {
  latencyLines, latencyText, linearTicks, logTicks, nearest, nines, nineTicks, number, panels, percent, sampledBlocks, shareAt,
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

test('counters become rates, and one that starts anew leaves a gap', () => {
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

test('columns of one source add up, and what one lacks is a gap', () => {
  const mebibyte = 2 ** 20;
  const reported = sampled([
    { source: 'group', at_us: [0, 1e6], columns: { anonymous_bytes: [mebibyte, 3 * mebibyte], shared_bytes: [mebibyte, null] } },
  ]);
  const [memory] = panels(reported, 2, ALL);
  assert.deepEqual(memory?.lines[0]?.points.map((point) => point.y), [2, null]);
  assert.equal(memory?.most, 2);
});

test('what the generator saw is in the middle of its second, and the last second may be shorter', () => {
  const reported = sampled([]);
  const trial = reported.study.cases[0]?.trials[1];
  assert.ok(trial);
  trial.window_s = 2.5;
  trial.course = { ok: [100, 0, 40], failed: [0, 0, 0], response_p50_us: [2_000, null, 3_000], response_p99_us: [9_000, null, null] };
  const of = (key: string) => panels(reported, 2, ALL).find((panel) => panel.key === key)?.lines[0]?.points;
  assert.deepEqual(of('answers'), [{ x: 0.5, y: 100 }, { x: 1.5, y: 0 }, { x: 2.25, y: 80 }]);
  assert.deepEqual(of('response_p50')?.map((point) => point.y), [2, null, 3]);
  assert.deepEqual(panels(reported, 2, ALL).map((panel) => panel.key), ['answers', 'response_p50', 'response_p99'], 'nothing failed');
  trial.course.failed = [0, 3, 1];
  assert.deepEqual(of('failed')?.map((point) => point.y), [0, 3, 2]);
  delete (trial as { sampling?: unknown }).sampling;
  assert.deepEqual(sampledBlocks(reported.study), [2], 'the generator tells without sampling');
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
