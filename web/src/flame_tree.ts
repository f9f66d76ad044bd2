/** Trees of functions for flame graphs: of one case, or of one beside another. It draws nothing. */

import type { Flame } from './document';

export type FlameTime = 'running' | 'waiting' | 'both';

/** A function where it was called. Times are microseconds of a request, with all that is called. */
export interface FlameNode {
  name: string;
  /** In the case that is shown. */
  us: number;
  /** In the case beside it; null where there is none. */
  beside: number | null;
  /** What its width stands for: it covers what it calls, also what only the other case calls. */
  size: number;
  depth: number;
  parent: FlameNode | null;
  children: FlameNode[];
}

/** Where a node lies, as shares of the width. */
export interface FlameBar {
  node: FlameNode;
  from: number;
  width: number;
}

function times(flame: Flame, time: FlameTime): (place: number) => number {
  const at = (column: number[], place: number): number => column[place] ?? 0;
  return (place) =>
    (time === 'waiting' ? 0 : at(flame.running_us, place)) + (time === 'running' ? 0 : at(flame.waiting_us, place));
}

function make(name: string, parent: FlameNode | null, beside: number | null): FlameNode {
  return { name, us: 0, beside, size: 0, depth: parent ? parent.depth + 1 : 0, parent, children: [] };
}

/** The tree of a case, each node with its time in another one where that is given. */
export function flameTree(shown: Flame, other: Flame | null, time: FlameTime): FlameNode {
  const root = make('all', null, other ? 0 : null);
  const add = (flame: Flame, put: (node: FlameNode, us: number) => void): void => {
    const of = times(flame, time);
    const nodes: FlameNode[] = [];
    flame.name.forEach((name, place) => {
      const parent = place === 0 ? null : nodes[flame.parent[place] ?? 0];
      const text = flame.names[name] ?? '';
      let node = parent ? parent.children.find((child) => child.name === text) : root;
      if (!node) {
        node = make(text, parent ?? null, other ? 0 : null);
        parent?.children.push(node);
      }
      nodes.push(node);
      put(node, of(place));
    });
  };
  add(shown, (node, us) => (node.us += us));
  if (other) add(other, (node, us) => (node.beside = (node.beside ?? 0) + us));
  settle(root);
  return root;
}

function settle(node: FlameNode): void {
  node.children.forEach(settle);
  node.children = node.children.filter((child) => child.size > 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  node.size = Math.max(node.us, node.beside ?? 0, node.children.reduce((sum, child) => sum + child.size, 0));
}

/** The bars that are at least so wide, with `focus` across the whole width below those that call it. */
export function flameBars(focus: FlameNode, least: number): FlameBar[] {
  const bars: FlameBar[] = [];
  for (let node = focus.parent; node; node = node.parent) bars.unshift({ node, from: 0, width: 1 });
  const place = (node: FlameNode, from: number, width: number): void => {
    if (width < least) return;
    bars.push({ node, from, width });
    let at = from;
    for (const child of node.children) {
      const part = (child.size / node.size) * width;
      place(child, at, part);
      at += part;
    }
  };
  if (focus.size > 0) place(focus, 0, 1);
  return bars;
}

/** By how much it differs from the other case, from -1 (blue) to 1 (red); 0 where there is none. Half of the whole is the most. */
export function flameChange(node: FlameNode, root: FlameNode): number {
  if (node.beside === null) return 0;
  const whole = Math.max(root.us, root.beside ?? 0, Number.MIN_VALUE);
  return Math.max(-1, Math.min(1, ((node.us - node.beside) / whole) * 2));
}

/** The time of all functions whose names hold a text, those below one another once. */
export function flameFound(root: FlameNode, text: string): number {
  if (holds(root, text)) return root.us;
  return root.children.reduce((sum, child) => sum + flameFound(child, text), 0);
}

/** Whether the name of a function holds a text, whatever its case. */
export function holds(node: FlameNode, text: string): boolean {
  return text !== '' && node.name.toLowerCase().includes(text.toLowerCase());
}
