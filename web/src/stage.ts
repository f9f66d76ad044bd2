/** Plots that share a horizontal axis, and what is pointed at in all of them: with a mouse, a finger or the arrow keys. */

import type { Plot } from './plot';

export interface StageOptions {
  label: string;
  plots: { plot: Plot; title?: string; marks?: string }[];
  /** The values at which keys stop, rising. */
  stops: number[];
  /** How far from a stop a line's point may be and still be told. */
  reach: number;
  /** What there is at a place, as lines of text, and in short. */
  tell: (x: number) => { heading: string; entries: { place: number; text: string }[] };
}

/** An element of HTML with a class and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  className = '',
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/** Puts plots into a page; they follow its width until they are taken out again. */
export function stage(options: StageOptions): HTMLElement {
  const { label, plots, stops, reach, tell } = options;
  // A slider is what people know that have no pointer: arrows move it, and it says where it is.
  const slider = element('div', 'stage');
  slider.tabIndex = 0;
  const attributes = { role: 'slider', 'aria-label': label, 'aria-valuemin': 0, 'aria-valuemax': Math.max(0, stops.length - 1) };
  for (const [key, value] of Object.entries(attributes)) slider.setAttribute(key, String(value));
  const readout = element('div', 'readout');
  readout.setAttribute('aria-hidden', 'true');
  for (const { plot, title, marks } of plots) {
    if (title) slider.append(element('p', 'panel', title, ...(marks ? [element('span', 'mark', marks)] : [])));
    slider.append(plot.element);
  }

  let stop: number | null = null;
  const point = (index: number | null): void => {
    stop = index;
    const x = index === null ? null : (stops[index] ?? null);
    for (const { plot } of plots) plot.mark(x, reach);
    if (x === null) {
      readout.replaceChildren();
      return;
    }
    const { heading, entries } = tell(x);
    const items = entries.map(({ place, text }) => element('li', `c${place % 8}`, text));
    readout.replaceChildren(element('b', '', heading), element('ul', '', ...items));
    slider.setAttribute('aria-valuenow', String(index));
    slider.setAttribute('aria-valuetext', [heading, ...entries.map((entry) => entry.text)].join(', '));
  };
  slider.setAttribute('aria-valuenow', '0');
  slider.setAttribute('aria-valuetext', '');

  const follow = (event: PointerEvent): void => {
    const first = plots[0]?.plot;
    if (!first || stops.length === 0) return;
    const x = first.valueAt(event.clientX - slider.getBoundingClientRect().left);
    let best = 0;
    stops.forEach((at, index) => {
      if (Math.abs(at - x) < Math.abs((stops[best] ?? 0) - x)) best = index;
    });
    point(best);
  };
  slider.addEventListener('pointermove', follow);
  slider.addEventListener('pointerdown', follow);
  slider.addEventListener('pointerleave', () => point(null));
  slider.addEventListener('focus', () => point(stop ?? 0));
  slider.addEventListener('blur', () => point(null));
  slider.addEventListener('keydown', (event) => {
    const last = stops.length - 1;
    const large = Math.max(1, Math.round(last / 10));
    const moves: Record<string, number> = {
      ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -large, PageUp: large, Home: -Infinity, End: Infinity,
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    point(Math.min(last, Math.max(0, (stop ?? 0) + move)));
  });

  new ResizeObserver(() => {
    for (const { plot } of plots) plot.draw(Math.max(240, slider.clientWidth));
    if (stop !== null) point(stop);
  }).observe(slider);
  return element('div', 'staged', slider, readout);
}
