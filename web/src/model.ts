/** What plots show, worked out from a report's document. Pure: it knows no page. */

import type { Curve, Distributions, ReportedStudy } from './document';
import texts from './texts.json';

export type Study = ReportedStudy['study'];
type Trial = Study['cases'][number]['trials'][number];
type Series = NonNullable<Trial['sampling']>['series'][number];

/** Which latency: from when a request was due, or from when it was sent. */
export type Clock = 'response' | 'service';

/** A place on a line; without a value there is a gap. */
export interface Point {
  x: number;
  y: number | null;
}

/** A line of a plot. */
export interface Line {
  /** The case, and its place among all of the study, from which colour and dashes follow. */
  name: string;
  place: number;
  /** Thin lines are the second clock. */
  thin: boolean;
  points: Point[];
}

/** A named place on an axis. */
export interface Tick {
  at: number;
  label: string;
}

/** From when to when, in seconds since the window opened. */
export interface Span {
  from: number;
  to: number;
}

/** A finding of a case at the moments of a trial that are evidence of it. */
export interface Mark {
  finding: string;
  name: string;
  place: number;
  spans: Span[];
}

/** Figures that share a time axis with others. */
export interface Panel {
  key: string;
  title: string;
  lines: Line[];
  /** The highest value. */
  most: number;
  /** What was found that shows here, with the cases. */
  findings: { id: string; cases: string[] }[];
  /** Those of them that have their moments in this block. */
  marks: Mark[];
}

/** Where a share of requests lies on a scale of nines: 0.9 at 1, 0.99 at 2. */
export function nines(share: number): number {
  return -Math.log10(1 - share);
}

/** The share at a place on the scale of nines. */
export function shareAt(place: number): number {
  return 1 - 10 ** -place;
}

const SHARES: [number, string][] = [
  [0, '0 %'],
  [0.5, '50 %'],
  [0.9, '90 %'],
  [0.99, '99 %'],
  [0.999, '99.9 %'],
  [0.9999, '99.99 %'],
  [0.99999, '99.999 %'],
];

/** Ticks of the scale of nines up to its end. */
export function nineTicks(end: number): Tick[] {
  return SHARES.map(([share, label]) => ({ at: nines(share), label })).filter((tick) => tick.at <= end + 1e-9);
}

/** A share as people say it: `99.9 %`, with as many nines as it has. */
export function percent(share: number): string {
  const decimals = Math.max(0, Math.ceil(nines(Math.min(share, 1 - 1e-9)) - 1e-9) - 2);
  return `${(share * 100).toFixed(decimals)} %`;
}

/** The lines of latencies in milliseconds over the scale of nines. */
export function latencyLines(reported: ReportedStudy, clocks: readonly Clock[], shown: ReadonlySet<string>): Line[] {
  return reported.distributions.flatMap((distributions, place) =>
    shown.has(distributions.case)
      ? clocks.map((clock) => ({
          name: distributions.case,
          place,
          thin: clock === 'service' && clocks.length > 1,
          points: curvePoints(distributions[clock]),
        }))
      : [],
  );
}

function curvePoints(curve: Curve): Point[] {
  return curve.share.map((share, index) => ({ x: nines(share), y: (curve.us[index] ?? 0) / 1e3 }));
}

/** A latency in words; one that is at least so long says so. */
export function latencyText(distributions: Distributions | undefined, clock: Clock, ms: number): string {
  const bound = clock === 'response' ? distributions?.lower_bound_from_us : null;
  const least = bound != null && ms * 1e3 >= bound ? `${texts.lower_bound} ` : '';
  return `${least}${number(ms)} ${texts.ms}`;
}

/** The numbers of the blocks of which some trial has a course. */
export function sampledBlocks(study: Study): number[] {
  const blocks = study.cases.flatMap((one) => one.trials.filter((trial) => trial.sampling ?? trial.instances ?? trial.load_seconds).map((trial) => trial.block));
  return [...new Set(blocks)].sort((a, b) => a - b);
}

/** For how long cases were loaded before their windows, in seconds: the longest. */
export function warmUp(study: Study): number {
  return Math.max(0, ...study.cases.map((one) => one.warm_up?.length_s ?? study.warm_up_s));
}

type Reader = (trial: Trial, series: Series[]) => Point[];

/** When a trial showed what a finding with such evidence says. */
type Moments = (trial: Trial, series: Series[], evidence: Record<string, number>) => Span[];

/** More of the limit than this is near it (`crates/analysis/src/rules/memory.rs`). */
const NEAR = 0.9;

/** Each with the findings that show in it. */
const PANELS: [key: string, title: string, reader: Reader, findings: string[]][] = [
  ['throughput', texts.panel_throughput, (trial) => each(trial, 'ok'), ['generator-busy']],
  ['failed', texts.panel_failed, (trial) => each(trial, 'failed'), ['failed-requests', 'turned-away']],
  ['p50', texts.panel_p50, (trial) => latencies(trial, 'response_p50_us'), ['responses-lengthen']],
  ['p99', texts.panel_p99, (trial) => latencies(trial, 'response_p99_us'), ['starving-tail']],
  ['instances', texts.panel_instances, instances, ['cold-starts', 'instances-lost', 'instances-never-ready', 'pods-unevenly-loaded', 'turned-away', 'large-instance']],
  ['rate', texts.panel_rate, (trial, series) => rate(trial, front(series), (column) => column), ['generator-busy', 'starving-tail']],
  ['cpu', texts.panel_cpu, (trial, series) => rate(trial, told(series, 'group', 'cpu_us'), (us) => us / 1e6), ['noisy-neighbour', 'shared-cores']],
  ['throttled', texts.panel_throttled, throttled, ['cpu-throttled', 'part-throttled', 'sized-beyond-quota']],
  ['memory', texts.panel_memory, (_, series) => total(memory(series), 2 ** -20), ['memory-grows', 'memory-near-limit', 'oom-kills']],
  [
    'workers',
    texts.panel_workers,
    (_, series) => total(told(series, 'unit', 'busy_workers'), 1),
    ['pool-full', 'pool-below-concurrency', 'connections-hold-workers', 'worker-restarts', 'slow-upstream'],
  ],
  [
    'queue',
    texts.panel_queue,
    (_, series) => total([...told(series, 'listener', 'accept_queue'), ...told(series, 'unit', 'queue')], 1),
    ['queue-grows', 'backlog-full'],
  ],
  ['errors', texts.panel_errors, (trial, series) => rate(trial, told(series, 'machine', 'listen_drops'), (drops) => drops), ['backlog-full']],
];

/** Findings whose evidence is of moments; that of others is of whole trials, or of how they were set up. */
const MOMENTS: Record<string, Moments> = {
  'backlog-full': (_, series, { backlog = Infinity }) =>
    told(series, 'listener', 'accept_queue').flatMap((queue) => where(total([queue], 1), (waiting) => waiting >= backlog)),
  'cpu-throttled': (_, series) => growths(told(series, 'group', 'throttled_periods')),
  'failed-requests': (trial) => wholeSeconds(trial).filter(({ index }) => (trial.load_seconds?.failed[index] ?? 0) > 0),
  'memory-near-limit': (_, series, { limit_bytes = Infinity }) => where(total(memory(series), 1), (bytes) => bytes > NEAR * limit_bytes),
  'oom-kills': (_, series) => growths(told(series, 'group', 'oom_kills')),
  'pool-full': (_, series, { workers = Infinity }) =>
    series.flatMap((unit) => {
      const taken = ['busy_workers', 'kept_workers'].flatMap((key) => told([unit], 'unit', key));
      return where(total(taken, 1), (count) => count >= workers);
    }),
  'worker-restarts': (_, series) => growths(told(series, 'unit', 'restarts')),
};

/** What was sampled in a block, in panels; of those that nothing told, none. */
export function panels(reported: ReportedStudy, block: number, shown: ReadonlySet<string>): Panel[] {
  const places = new Map(reported.distributions.map((distributions, place) => [distributions.case, place]));
  const drawn = reported.study.cases.flatMap((one) => {
    const trial = one.trials.find((trial) => trial.block === block);
    const place = places.get(one.id);
    return trial && place !== undefined && shown.has(one.id) ? [{ one, trial, place, series: trial.sampling?.series ?? [] }] : [];
  });
  return PANELS.flatMap(([key, title, reader, ids]) => {
    const told = drawn.flatMap((of) => {
      const points = reader(of.trial, of.series);
      return points.some((point) => point.y !== null) ? [{ ...of, points }] : [];
    });
    if (told.length === 0) return [];
    const lines = told.map(({ one, place, points }) => ({ name: one.id, place, thin: false, points }));
    const most = Math.max(0, ...lines.flatMap((line) => line.points.map((point) => point.y ?? 0)));
    const found = ids.flatMap((id) =>
      told.flatMap((of) => of.one.findings.filter((finding) => finding.id === id).map((finding) => ({ ...of, id, evidence: finding.evidence ?? {} }))),
    );
    const findings = ids.flatMap((id) => {
      const cases = found.filter((of) => of.id === id).map((of) => of.one.id);
      return cases.length > 0 ? [{ id, cases }] : [];
    });
    const marks = found.flatMap(({ id, one, place, trial, series, evidence }) => {
      const spans = joined(MOMENTS[id]?.(trial, series, evidence) ?? []);
      return spans.length > 0 ? [{ finding: id, name: one.id, place, spans }] : [];
    });
    return [{ key, title, lines, most, findings, marks }];
  });
}

/** The findings that have a moment within so many seconds of a place, each with its case. */
export function marksAt(panel: Panel, x: number, reach: number): Mark[] {
  return panel.marks.filter((mark) => mark.spans.some(({ from, to }) => from - reach <= x && x <= to + reach));
}

/** The seconds that the load generator told, from when to when and at which place in its lists. */
function wholeSeconds(trial: Trial): (Span & { index: number })[] {
  const begun = trial.load_seconds?.second ?? [];
  const end = Math.floor((trial.window_s ?? 0) + 1e-3);
  return begun.map((from, index) => ({ from, to: begun[index + 1] ?? Math.max(end, from + 1), index }));
}

/** How many a second, as the load generator counted, in the middle of each. */
function each(trial: Trial, what: 'ok' | 'failed'): Point[] {
  return wholeSeconds(trial).map(({ from, to, index }) => ({ x: (from + to) / 2, y: (trial.load_seconds?.[what][index] ?? 0) / (to - from) }));
}

/** A percentile of each second, in milliseconds. */
function latencies(trial: Trial, what: 'response_p50_us' | 'response_p99_us'): Point[] {
  return wholeSeconds(trial).map(({ from, to, index }) => {
    const us = trial.load_seconds?.[what][index] ?? null;
    return { x: (from + to) / 2, y: us === null ? null : us / 1e3 };
  });
}

function memory(series: Series[]): Column[] {
  return ['anonymous_bytes', 'shared_bytes', 'kernel_bytes'].flatMap((key) => told(series, 'group', key));
}

/** From when to when values were such, without a break. */
function where(points: Point[], holds: (value: number) => boolean): Span[] {
  const spans: Span[] = [];
  let open: Span | null = null;
  for (const { x, y } of points) {
    if (y === null || !holds(y)) open = null;
    else if (open) open.to = x;
    else spans.push((open = { from: x, to: x }));
  }
  return spans;
}

/** Between which samples counters grew. */
function growths(columns: Column[]): Span[] {
  return columns.flatMap((column) =>
    steps(column, 0).flatMap(({ from, to }) =>
      (column.values[to] ?? 0) > (column.values[from] ?? 0) ? [{ from: column.at[from] ?? 0, to: column.at[to] ?? 0 }] : [],
    ),
  );
}

/** Spans in their order, those that touch as one. */
function joined(spans: Span[]): Span[] {
  const all: Span[] = [];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const last = all.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else all.push({ from, to });
  }
  return all;
}

/** How many instances there were, as steps up to the window's end. */
function instances(trial: Trial): Point[] {
  const { at_us = [], count = [] } = trial.instances?.course ?? {};
  return at_us.flatMap((us, index) => {
    const until = at_us[index + 1] ?? (trial.window_s ?? 0) * 1e6;
    const y = count[index] ?? null;
    return [us, until].map((at) => ({ x: at / 1e6, y }));
  });
}

/** A column of samples with its times, in seconds since the window opened. */
interface Column {
  at: number[];
  values: (number | null)[];
}

function told(series: Series[], source: string, key: string): Column[] {
  return series.flatMap((one) => {
    const values = one.columns[key];
    return one.source === source && values ? [{ at: one.at_us.map((us) => us / 1e6), values }] : [];
  });
}

/** The counter of requests of the unit that saw most of them: every request goes through the front. */
function front(series: Series[]): Column[] {
  const grown = (column: Column): number => {
    const values = column.values.filter((value) => value !== null);
    return (values.at(-1) ?? 0) - (values[0] ?? 0);
  };
  return told(series, 'unit', 'requests').sort((a, b) => grown(b) - grown(a)).slice(0, 1);
}

/** The values of all columns together; a sample that one of them lacks is a gap. */
function total(columns: Column[], factor: number): Point[] {
  const [first, ...others] = columns;
  if (!first) return [];
  return first.at.map((at, index) => {
    let sum = first.values[index] ?? null;
    for (const other of others) {
      const value = other.values[nearest(other.at, at)] ?? null;
      sum = sum === null || value === null ? null : sum + value;
    }
    return { x: at, y: sum === null ? null : sum * factor };
  });
}

/** Samples closer together than this say more about when they were taken than about a rate. */
function stride(trial: Trial): number {
  return Math.min(1, (trial.window_s ?? 1) / 20);
}

/** How fast a counter grows, between samples that lie far enough apart. One that is reset leaves a gap. */
function rate(trial: Trial, columns: Column[], unit: (growth: number) => number): Point[] {
  const [column] = columns;
  if (!column) return [];
  return steps(column, stride(trial)).map(({ from, to }) => {
    const growth = (column.values[to] ?? 0) - (column.values[from] ?? 0);
    const [begin, end] = [column.at[from] ?? 0, column.at[to] ?? 0];
    return { x: (begin + end) / 2, y: growth < 0 ? null : unit(growth) / (end - begin) };
  });
}

function throttled(trial: Trial, series: Series[]): Point[] {
  const [periods] = told(series, 'group', 'periods');
  const [without] = told(series, 'group', 'throttled_periods');
  if (!periods || !without) return [];
  return steps(periods, stride(trial)).map(({ from, to }) => {
    const grown = (column: Column): number => (column.values[to] ?? 0) - (column.values[from] ?? 0);
    const all = grown(periods);
    return { x: ((periods.at[from] ?? 0) + (periods.at[to] ?? 0)) / 2, y: all > 0 ? (grown(without) / all) * 100 : null };
  });
}

/** Neighbouring samples with a value that lie at least so many seconds apart. */
function steps(column: Column, least: number): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  let from = -1;
  column.values.forEach((value, to) => {
    if (value === null) return;
    if (from < 0) from = to;
    else if ((column.at[to] ?? 0) - (column.at[from] ?? 0) >= least * 0.99) {
      found.push({ from, to });
      from = to;
    }
  });
  return found;
}

/** The index of the value in a rising list that is nearest to another one. */
export function nearest(values: readonly number[], to: number): number {
  let [low, high] = [0, values.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) < to) low = middle + 1;
    else high = middle;
  }
  const before = values[low - 1];
  return before !== undefined && to - before < (values[low] ?? Infinity) - to ? low - 1 : low;
}

/** The value of a line at a place: that of the point next to it, unless there is none near. */
export function valueAt(line: Line, x: number, reach: number): number | null {
  const point = line.points[nearest(line.points.map((point) => point.x), x)];
  return point && Math.abs(point.x - x) <= reach ? point.y : null;
}

/** Ticks from zero to at least `most`: three to six, round. */
export function linearTicks(most: number): Tick[] {
  const rough = (most > 0 ? most : 1) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) ?? 10);
  const last = Math.max(1, Math.ceil((most / step) * 0.999));
  return Array.from({ length: last + 1 }, (_, index) => ({ at: index * step, label: number(index * step) }));
}

/** Ticks at 1, 2 and 5 times the powers of ten around these values; where they span much, at the powers alone. */
export function logTicks(least: number, most: number): Tick[] {
  const [first, last] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))];
  const factors = last - first > 3 ? [1] : [1, 2, 5];
  const all = Array.from({ length: last - first + 1 }, (_, index) => first + index).flatMap((power) =>
    factors.map((factor) => factor * 10 ** power),
  );
  const low = all.filter((at) => at <= least * 1.001).at(-1) ?? least;
  const high = all.find((at) => at >= most * 0.999) ?? most;
  return all.filter((at) => at >= low && at <= high).map((at) => ({ at, label: number(at) }));
}

/** A number with three digits, or all those before the point. */
export function number(value: number): string {
  if (value === 0) return '0';
  const magnitude = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(3)))));
  const decimals = Math.min(6, Math.max(0, 2 - magnitude));
  const text = value.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** At the start, so many cases are drawn that they can be told apart: the best. */
export function shownAtFirst(reported: ReportedStudy): Set<string> {
  const names = reported.distributions.map((distributions) => distributions.case);
  return new Set(names.length <= 8 ? names : names.slice(0, 6));
}
