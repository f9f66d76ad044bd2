/** A plot as SVG: axes, lines, and an upright line at the place that is pointed at. It knows nothing of what is plotted. */

import { valueAt, type Line, type Mark, type Tick } from './model';

const SVG = 'http://www.w3.org/2000/svg';
/** Free space around the lines, in pixels: labels of the axes stand in it. */
const LEFT = 60;
const RIGHT = 12;
const TOP = 8;
const BOTTOM = 22;
/** Height of the bars that say when a finding shows, each with a free pixel below it, and the width of the shortest. */
const BAR = 4;
const SHORTEST = 3;
/** As many colours as the style sheet names, and as many kinds of dashes. */
const COLOURS = 8;
const DASHES = ['', '7 3', '2 3', '9 3 2 3'];

/** An axis: where its ticks are, and where a value lies from 0 to 1. */
export interface Axis {
  ticks: Tick[];
  from: number;
  to: number;
  log: boolean;
}

export interface PlotOptions {
  lines: Line[];
  x: Axis;
  y: Axis;
  height: number;
  /** From here on to 0 it is shaded. */
  shade?: number;
  /** When findings show: a row of bars above the lines for each. */
  marks?: Mark[];
}

function share(axis: Axis, value: number): number {
  const of = axis.log ? (at: number): number => Math.log10(Math.max(at, 1e-12)) : (at: number): number => at;
  return (of(value) - of(axis.from)) / (of(axis.to) - of(axis.from));
}

/** An element of SVG with attributes and a text. */
export function shape(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** How the line of a case is drawn: attributes of its path. */
export function stroke(place: number, thin: boolean): Record<string, string> {
  return {
    class: `line c${place % COLOURS}${thin ? ' thin' : ''}`,
    'stroke-dasharray': DASHES[place % DASHES.length] ?? '',
  };
}

export class Plot {
  readonly element = shape('svg', { 'aria-hidden': 'true', class: 'plot' }) as SVGSVGElement;
  private readonly cursor = shape('g', { class: 'cursor' });
  private readonly marks: Mark[];
  /** Where the lines may begin, and the whole height: rows of bars come on top. */
  private readonly top: number;
  private readonly height: number;
  private width = 0;

  constructor(private readonly options: PlotOptions) {
    this.marks = options.marks ?? [];
    this.top = TOP + this.marks.length * (BAR + 1);
    this.height = options.height + this.marks.length * (BAR + 1);
    this.element.setAttribute('height', String(this.height));
    this.element.setAttribute('width', '100%');
  }

  /** Draws for a width in pixels. */
  draw(width: number): void {
    this.width = width;
    const { lines, x, y, shade } = this.options;
    const grid = shape('g', {});
    const [top, bottom] = [this.top, this.height - BOTTOM];
    if (shade !== undefined) {
      const from = this.placeX(shade);
      grid.append(shape('rect', { class: 'shade', x: from, y: top, width: this.placeX(0) - from, height: bottom - top }));
    }
    for (const tick of y.ticks) {
      const at = this.placeY(tick.at);
      grid.append(shape('line', { class: 'grid', x1: LEFT, x2: width - RIGHT, y1: at, y2: at }));
      grid.append(shape('text', { class: 'tick', x: LEFT - 6, y: at + 4, 'text-anchor': 'end' }, tick.label));
    }
    let free = -Infinity;
    for (const tick of x.ticks) {
      const at = this.placeX(tick.at);
      grid.append(shape('line', { class: 'grid', x1: at, x2: at, y1: top, y2: bottom }));
      const half = tick.label.length * 3.6;
      const label = Math.min(at, width - half);
      if (label - half < free) continue;
      grid.append(shape('text', { class: 'tick', x: label, y: this.height - 6, 'text-anchor': 'middle' }, tick.label));
      free = label + half + 4;
    }
    const paths = lines.map((line) => shape('path', { ...stroke(line.place, line.thin), d: this.path(line), 'data-case': line.name }));
    this.cursor.replaceChildren();
    this.element.replaceChildren(grid, ...this.marks.map((mark, row) => this.bars(mark, TOP / 2 + row * (BAR + 1))), ...paths, this.cursor);
  }

  /** The moments of a finding, at their height. */
  private bars({ finding, name, place, spans }: Mark, y: number): SVGElement {
    const group = shape('g', { class: `moments c${place % COLOURS}`, 'data-finding': finding, 'data-case': name });
    for (const { from, to } of spans) {
      const [left, right] = [this.placeX(from), this.placeX(to)];
      const width = Math.max(SHORTEST, right - left);
      group.append(shape('rect', { x: ((left + right - width) / 2).toFixed(1), y, width: width.toFixed(1), height: BAR }));
    }
    return group;
  }

  /** Marks a place on the horizontal axis, and what each line has there; nothing with `null`. */
  mark(x: number | null, reach: number): void {
    this.cursor.replaceChildren();
    if (x === null) return;
    const at = this.placeX(x);
    this.cursor.append(shape('line', { x1: at, x2: at, y1: TOP, y2: this.height - BOTTOM }));
    for (const line of this.options.lines) {
      const value = valueAt(line, x, reach);
      if (value === null) continue;
      this.cursor.append(shape('circle', { class: `c${line.place % COLOURS}`, cx: at, cy: this.placeY(value), r: 4 }));
    }
  }

  /** The value of the horizontal axis at a distance from the left edge. */
  valueAt(pixels: number): number {
    const { from, to } = this.options.x;
    const share = (pixels - LEFT) / (this.width - LEFT - RIGHT);
    return from + Math.min(1, Math.max(0, share)) * (to - from);
  }

  private path(line: Line): string {
    let pen = 'M';
    return line.points
      .map(({ x, y }) => {
        if (y === null) {
          pen = 'M';
          return '';
        }
        const step = `${pen}${this.placeX(x).toFixed(1)} ${this.placeY(y).toFixed(1)}`;
        pen = 'L';
        return step;
      })
      .join('');
  }

  private placeX(value: number): number {
    return LEFT + share(this.options.x, value) * (this.width - LEFT - RIGHT);
  }

  private placeY(value: number): number {
    return this.height - BOTTOM - share(this.options.y, value) * (this.height - BOTTOM - this.top);
  }
}
