/** A flame graph: bars of HTML that are clicked, or moved through by keys. */

import type { Flame } from './document';
import { flameBars, flameChange, flameFound, flameTree, holds, type FlameNode, type FlameTime } from './flame_tree';
import { number } from './model';
import { element } from './stage';
import texts from './texts.json';

/** Height of a bar, and the least width of one that is drawn, in pixels. */
const BAR = 20;
const LEAST = 3;
/** Colours of bars that are compared with nothing. */
const TINTS = 6;

export interface FlameOptions {
  name: string;
  flame: Flame;
  other: { name: string; flame: Flame } | null;
  time: FlameTime;
}

export class FlameGraph {
  readonly element = element('div', 'flame-graph');
  private readonly bars = element('div', 'flame-bars');
  private readonly readout = element('p', 'flame-readout');
  private readonly found = element('output', 'flame-found');
  private readonly root: FlameNode;
  private focus: FlameNode;
  private current: FlameNode;
  private sought = '';
  private drawn = new Map<FlameNode, HTMLElement>();

  constructor(private readonly options: FlameOptions) {
    this.root = flameTree(options.flame, options.other?.flame ?? null, options.time);
    this.focus = this.root;
    this.current = this.root;
    this.bars.setAttribute('role', 'tree');
    this.bars.setAttribute('aria-label', `${texts.flame_graph}: ${options.name}`);
    this.bars.addEventListener('keydown', (event) => this.key(event));
    this.readout.setAttribute('aria-hidden', 'true');
    const search = element('input');
    search.type = 'search';
    search.addEventListener('input', () => this.seek(search.value.trim()));
    const reset = element('button', '', texts.flame_reset);
    reset.type = 'button';
    reset.addEventListener('click', () => this.zoom(this.root, false));
    const controls = element('div', 'choices', element('label', 'choice', `${texts.flame_search} `, search), reset, this.found);
    this.element.append(controls, this.readout, this.bars);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  private draw(): void {
    const width = Math.max(200, this.element.clientWidth);
    const bars = flameBars(this.focus, LEAST / width);
    const hadFocus = this.bars.contains(document.activeElement);
    this.drawn = new Map();
    this.bars.style.height = `${(Math.max(...bars.map((bar) => bar.node.depth), 0) + 1) * BAR}px`;
    this.bars.replaceChildren(
      ...bars.map(({ node, from, width: share }) => {
        const bar = element('div', `flame ${this.look(node)}`, node.name);
        const change = flameChange(node, this.root);
        bar.style.cssText = `left:${from * 100}%;width:${share * 100}%;top:${node.depth * BAR}px;--change:${Math.abs(change)}`;
        bar.setAttribute('role', 'treeitem');
        bar.setAttribute('aria-level', String(node.depth + 1));
        bar.setAttribute('aria-label', this.told(node));
        if (node.children.length > 0) bar.setAttribute('aria-expanded', 'true');
        bar.tabIndex = -1;
        bar.addEventListener('click', () => this.zoom(node, true));
        bar.addEventListener('pointerenter', () => this.show(node));
        bar.addEventListener('focus', () => this.show(node));
        this.drawn.set(node, bar);
        return bar;
      }),
    );
    if (!this.drawn.has(this.current)) this.current = this.focus;
    const at = this.drawn.get(this.current);
    if (at) at.tabIndex = 0;
    if (hadFocus) at?.focus();
    if (!hadFocus) this.show(this.current);
  }

  private look(node: FlameNode): string {
    const hit = holds(node, this.sought) ? ' hit' : '';
    if (node.beside === null) {
      let sum = 0;
      for (const letter of node.name) sum = (sum * 31 + letter.charCodeAt(0)) % 1009;
      return `tint${sum % TINTS}${hit}`;
    }
    return `${flameChange(node, this.root) >= 0 ? 'more' : 'less'}${hit}`;
  }

  /** What a bar says in words. */
  private told(node: FlameNode): string {
    const whole = Math.max(this.root.us, Number.MIN_VALUE);
    const share = `${((node.us / whole) * 100).toFixed(1)} % ${texts.flame_of}`;
    const text = `${node.name}: ${number(node.us)} ${texts.flame_us}, ${share}`;
    const { other } = this.options;
    if (node.beside === null || !other) return text;
    const more = node.us - node.beside;
    return `${text}; ${number(Math.abs(more))} us ${more >= 0 ? texts.flame_more : texts.flame_less} ${other.name}`;
  }

  private show(node: FlameNode): void {
    this.readout.textContent = this.told(node);
  }

  private zoom(node: FlameNode, moves: boolean): void {
    this.focus = node;
    this.current = node;
    this.draw();
    if (moves) this.drawn.get(node)?.focus();
  }

  private seek(text: string): void {
    this.sought = text;
    const share = (flameFound(this.root, text) / Math.max(this.root.us, Number.MIN_VALUE)) * 100;
    this.found.textContent = text ? `${share.toFixed(1)} % ${texts.flame_found}` : '';
    this.draw();
  }

  private key(event: KeyboardEvent): void {
    const { current } = this;
    const beside = (step: number): FlameNode | undefined => {
      const all = current.parent?.children.filter((child) => this.drawn.has(child)) ?? [];
      return all[all.indexOf(current) + step];
    };
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      this.zoom(current, true);
      return;
    }
    if (event.key === 'Escape') {
      event.preventDefault();
      this.zoom(this.root, true);
      return;
    }
    const moves: Record<string, () => FlameNode | null | undefined> = {
      ArrowUp: () => current.parent,
      ArrowDown: () => current.children.find((child) => this.drawn.has(child)),
      ArrowLeft: () => beside(-1),
      ArrowRight: () => beside(1),
      Home: () => this.root,
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    const next = move();
    const bar = next ? this.drawn.get(next) : undefined;
    if (!next || !bar) return;
    const before = this.drawn.get(current);
    if (before) before.tabIndex = -1;
    this.current = next;
    bar.tabIndex = 0;
    bar.focus();
  }
}
