/** The plots of one study, and what is shown and hidden in them. */

import type { Flame, ReportedStudy } from './document';
import { FlameGraph } from './flame';
import type { FlameTime } from './flame_tree';
import {
  latencyLines, latencyText, linearTicks, logTicks, marksAt, nineTicks, nines, number, panels, percent, sampledBlocks, shareAt,
  shownAtFirst, valueAt, warmUp, type Clock, type Line,
} from './model';
import { Plot, shape, stroke } from './plot';
import { element, stage } from './stage';
import texts from './texts.json';

const LATENCY_HEIGHT = 320;
const PANEL_HEIGHT = 130;

/** Brings the plots of a study into its part of the page. */
export class StudyPlots {
  private readonly shown: Set<string>;
  private clocks: Clock[] = ['response'];
  private block: number;
  private readonly redraw: (() => void)[] = [];

  constructor(
    private readonly article: HTMLElement,
    private readonly reported: ReportedStudy,
  ) {
    this.shown = shownAtFirst(reported);
    this.block = sampledBlocks(reported.study)[0] ?? 1;
    this.place('latency', [this.clockChoice()], () => this.latency());
    this.place('course', [this.blockChoice()], () => this.course());
    this.flames();
  }

  private place(name: string, choices: HTMLElement[], make: () => HTMLElement): void {
    const area = this.article.querySelector<HTMLElement>(`[data-plot="${name}"]`);
    if (!area || this.reported.distributions.length === 0) return;
    const [drawing, cases] = [element('div'), this.caseChoice()];
    area.append(element('div', 'choices', ...choices, cases), drawing);
    area.hidden = false;
    const redraw = (): void => {
      for (const box of cases.querySelectorAll('input')) box.checked = this.shown.has(box.value);
      drawing.replaceChildren(make());
    };
    this.redraw.push(redraw);
    redraw();
  }

  /** A graph of one case, or of one beside another. */
  private flames(): void {
    const area = this.article.querySelector<HTMLElement>('[data-plot="flame"]');
    const cases = this.reported.study.cases.flatMap((of): { name: string; flame: Flame }[] =>
      of.inside && of.inside.flame.name.length > 1 ? [{ name: of.id, flame: of.inside.flame }] : [],
    );
    const [first, second] = cases;
    if (!area || !first) return;
    let [shown, beside, time]: [string, string, FlameTime] = [first.name, '', 'running'];
    const [drawing, legend] = [element('div'), element('p', 'note', texts.flame_red)];
    const draw = (): void => {
      const of = cases.find(({ name }) => name === shown) ?? first;
      const other = cases.find(({ name }) => name === beside && name !== shown) ?? null;
      legend.hidden = !other;
      const name = other ? `${of.name} ${texts.flame_beside} ${other.name}` : of.name;
      drawing.replaceChildren(new FlameGraph({ name, flame: of.flame, other, time }).element);
    };
    const names = cases.map(({ name }): [string, string] => [name, name]);
    const choices = [choice(texts.flame_case, names, (value) => ((shown = value), draw()))];
    if (second) {
      const others: [string, string][] = [['', texts.flame_alone], ...names];
      choices.push(choice(texts.flame_beside, others, (value) => ((beside = value), draw())));
    }
    const kinds: [FlameTime, string][] = [
      ['running', texts.flame_running],
      ['waiting', texts.flame_waiting],
      ['both', texts.flame_both],
    ];
    choices.push(choice(texts.flame_time, kinds, (value) => ((time = kinds.find(([kind]) => kind === value)?.[0] ?? 'running'), draw())));
    area.append(element('div', 'choices', ...choices), legend, drawing);
    area.hidden = false;
    draw();
  }

  private changed(): void {
    for (const redraw of this.redraw) redraw();
  }

  private caseChoice(): HTMLElement {
    const boxes = this.reported.distributions.map(({ case: name }, place) => {
      const box = element('input');
      box.type = 'checkbox';
      box.value = name;
      box.addEventListener('change', () => {
        if (box.checked) this.shown.add(name);
        else this.shown.delete(name);
        this.changed();
      });
      const sample = shape('svg', { class: 'sample', width: 26, height: 10, 'aria-hidden': 'true' });
      sample.append(shape('path', { ...stroke(place, false), d: 'M0 5L26 5' }));
      return element('label', '', box, sample as unknown as Node, name);
    });
    return element('fieldset', '', element('legend', '', texts.cases_shown), ...boxes);
  }

  private clockChoice(): HTMLElement {
    const choices: [string, Clock[], string][] = [
      ['response', ['response'], texts.clock_response],
      ['service', ['service'], texts.clock_service],
      ['both', ['response', 'service'], texts.clock_both],
    ];
    return choice(texts.clock, choices.map(([value, , title]) => [value, title]), (value) => {
      this.clocks = choices.find(([name]) => name === value)?.[1] ?? ['response'];
      this.changed();
    });
  }

  private blockChoice(): HTMLElement {
    const blocks = sampledBlocks(this.reported.study).map((block): [string, string] => [String(block), String(block)]);
    return choice(texts.block, blocks, (value) => {
      this.block = Number(value);
      this.changed();
    });
  }

  private latency(): HTMLElement {
    const lines = latencyLines(this.reported, this.clocks, this.shown);
    const points = lines.flatMap((line) => line.points);
    if (points.length === 0) return element('p', 'note', texts.no_data);
    const values = points.map((point) => point.y ?? 0).filter((value) => value > 0);
    const yTicks = logTicks(Math.min(...values), Math.max(...values));
    const end = Math.max(...points.map((point) => point.x), nines(0.9));
    const plot = new Plot({
      lines,
      x: { ticks: nineTicks(end), from: 0, to: end, log: false },
      y: { ticks: yTicks, from: yTicks[0]?.at ?? 0.1, to: yTicks.at(-1)?.at ?? 1, log: true },
      height: LATENCY_HEIGHT,
    });
    const drawn = stage({
      label: texts.latency_plot,
      plots: [{ plot }],
      stops: [...new Set(points.map((point) => point.x))].sort((a, b) => a - b),
      reach: 0.12,
      tell: (x) => ({
        heading: percent(shareAt(x)),
        entries: this.told(lines, x, 0.12, (line, value) => {
          const of = this.reported.distributions[line.place];
          const clock: Clock = line.thin || this.clocks[0] === 'service' ? 'service' : 'response';
          const remark = this.clocks.length > 1 ? ` (${clock})` : '';
          return `${line.name}${remark}: ${latencyText(of, clock, value)}`;
        }),
      }),
    });
    return element('div', '', element('p', 'axis', `${texts.ms} ↑   ${texts.latency_axis} →`), drawn);
  }

  private course(): HTMLElement {
    const { study } = this.reported;
    const found = panels(this.reported, this.block, this.shown);
    const points = found.flatMap((panel) => panel.lines.flatMap((line) => line.points));
    if (points.length === 0) return element('p', 'note', texts.no_data);
    const end = Math.max(study.duration_s, ...points.map((point) => point.x));
    const before = warmUp(study);
    const from = -Math.min(before, end * 0.15);
    const ticks = linearTicks(end).filter((tick) => tick.at <= end);
    const x = { ticks, from, to: end, log: false };
    const plots = found.map(({ title, lines, most, findings, marks: moments }) => {
      const yTicks = linearTicks(most);
      const y = { ticks: yTicks, from: 0, to: yTicks.at(-1)?.at ?? 1, log: false };
      const marks = findings.map(({ id, cases }) => `${id} (${cases.join(', ')})`).join('; ');
      const plot = new Plot({ lines, x, y, height: PANEL_HEIGHT, marks: moments, ...(before > 0 ? { shade: from } : {}) });
      return { title, ...(marks ? { marks: `${texts.findings}: ${marks}` } : {}), plot };
    });
    const stops = [...new Set(points.map((point) => Math.round(point.x * 10) / 10))].filter((at) => at >= 0).sort((a, b) => a - b);
    const reach = Math.max(0.2, end / 20);
    const drawn = stage({
      label: `${texts.over_time}, ${texts.seconds}`,
      plots,
      stops,
      reach,
      tell: (at) => ({
        heading: `${number(at)} s`,
        entries: found.flatMap((panel) => [
          ...this.told(panel.lines, at, reach, (line, value) => `${line.name}: ${number(value)} ${panel.title}`),
          ...marksAt(panel, at, 0.1).map(({ place, name, finding }) => ({ place, text: `${name}: ${finding}` })),
        ]),
      }),
    });
    const warm = before > 0 ? [element('span', 'swatch warm'), `${texts.warm_up} ${number(before)} s; `] : [];
    const legend = element('p', 'axis', ...warm, `${texts.seconds} →`);
    return element('div', '', legend, drawn);
  }

  private told(lines: Line[], x: number, reach: number, text: (line: Line, value: number) => string): { place: number; text: string }[] {
    return lines.flatMap((line) => {
      const value = valueAt(line, x, reach);
      return value === null ? [] : [{ place: line.place, text: text(line, value) }];
    });
  }
}

/** A list to choose from, with its name. */
function choice(name: string, values: [value: string, title: string][], chosen: (value: string) => void): HTMLElement {
  const list = element('select');
  for (const [value, title] of values) list.append(new Option(title, value));
  list.addEventListener('change', () => chosen(list.value));
  return element('label', 'choice', `${name} `, list);
}
