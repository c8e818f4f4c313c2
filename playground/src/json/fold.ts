/**
 * JSON in parts that fold: lists and objects, and of long ones ranges of a hundred, of a hundred of those, and so on.
 *
 * So no part ever has more rows than a person looks through, however long the text is.
 */

import type { List, Node, Obj } from './node.js';

/** Some entries of a list or an object. */
export interface Part {
  readonly node: List | Obj;
  readonly from: number;
  readonly to: number;
}

/** The most rows of a part. */
export const WIDTH = 100;
/** Values up to this length stand on one line. */
const SHORT = 60;

export function whole(node: List | Obj): Part {
  return { node, from: 0, to: count(node) };
}

/** How many entries a list or an object has. */
export function count(node: List | Obj): number {
  return node.kind === 'array' ? node.items.length : node.members.length;
}

/** The ranges of a part that is too long for its entries. */
export function ranges({ node, from, to }: Part): readonly Part[] {
  if (to - from <= WIDTH) return [];
  let step = WIDTH;
  while (step * WIDTH < to - from) step *= WIDTH;
  const starts = Array.from({ length: Math.ceil((to - from) / step) }, (_, at) => from + at * step);
  return starts.map((start) => ({ node, from: start, to: Math.min(start + step, to) }));
}

/** The entries of a part, with their names in an object. */
export function entries({ node, from, to }: Part): readonly { readonly at: number; readonly name?: string; readonly value: Node }[] {
  if (node.kind === 'array') return node.items.slice(from, to).map((value, at) => ({ at: from + at, value }));
  return node.members.slice(from, to).map(({ name, value }, at) => ({ at: from + at, name, value }));
}

/** Whether a value folds. */
export function folds(node: Node): node is List | Obj {
  return (node.kind === 'array' || node.kind === 'object') && node.to - node.from > SHORT && count(node) > 0;
}

/** What names a part among all. */
export function key({ node, from, to }: Part): string {
  return `${node.from}.${from}.${to}`;
}

/** The parts to open so that about as many rows are seen: those near the root first. */
export function opened(root: Part, rows: number): ReadonlySet<string> {
  const open = new Set<string>();
  const waiting = [root];
  let used = 0;
  for (let at = 0; at < waiting.length && used < rows; at += 1) {
    const part = waiting[at]!;
    const within = ranges(part);
    const cost = within.length || part.to - part.from;
    if (at > 0 && used + cost > rows) continue;
    used += cost;
    open.add(key(part));
    if (within.length > 0) waiting.push(...within);
    else for (const { value } of entries(part)) if (folds(value)) waiting.push(whole(value));
  }
  return open;
}
