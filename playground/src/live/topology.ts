/** Where the parts of the picture are: clients, the gateway, upstreams and their servers. */

import type { NodeRecord, UpstreamRecord } from './records.js';

/** Heights of boxes and of the space between them, as the style sheet has them. */
export const CLIENT = 48;
export const UPSTREAM = 76;
export const NODE = 56;
const GAP = 8;
const GROUP_GAP = 16;

/** How well something does. */
export type Health = 'good' | 'fair' | 'bad' | 'off';

/** A line between two boxes; its ends are distances from the top. */
export interface Link {
  readonly key: string;
  readonly from: number;
  readonly to: number;
  readonly health: Health;
  /** Calls per second. */
  readonly rate: number;
}

/** The height of an upstream with so many servers. */
export function groupHeight(nodes: number): number {
  return Math.max(UPSTREAM, stackHeight(nodes, NODE, GAP));
}

/** The height of the picture. */
export function height(upstreams: readonly UpstreamRecord[], clients: number): number {
  const groups = upstreams.map((upstream) => groupHeight(upstream.nodes.length));
  const right = groups.reduce((sum, one) => sum + one, 0) + GROUP_GAP * Math.max(0, groups.length - 1);
  return Math.max(right, stackHeight(clients, CLIENT, GAP), UPSTREAM);
}

/** Lines from clients to the gateway, whose boxes are in the middle. */
export function clientLinks(clients: readonly { readonly name: string; readonly rate: number }[], whole: number): Link[] {
  const middles = centres(clients.length, CLIENT, GAP, whole);
  return clients.map(({ name, rate }, at) => ({ key: name, from: middles[at]!, to: whole / 2, health: 'good', rate }));
}

/** Lines from the gateway to upstreams. */
export function upstreamLinks(upstreams: readonly UpstreamRecord[], whole: number, rate: (upstream: UpstreamRecord) => number): Link[] {
  const heights = upstreams.map((upstream) => groupHeight(upstream.nodes.length));
  const all = heights.reduce((sum, one) => sum + one, 0) + GROUP_GAP * Math.max(0, heights.length - 1);
  let top = (whole - all) / 2;
  return upstreams.map((upstream, at) => {
    const to = top + heights[at]! / 2;
    top += heights[at]! + GROUP_GAP;
    return { key: upstream.name, from: whole / 2, to, health: upstreamHealth(upstream), rate: rate(upstream) };
  });
}

/** Lines from an upstream to its servers. */
export function nodeLinks(upstream: UpstreamRecord, rate: (node: NodeRecord) => number): Link[] {
  const whole = groupHeight(upstream.nodes.length);
  const middles = centres(upstream.nodes.length, NODE, GAP, whole);
  return upstream.nodes.map((node, at) => {
    return { key: node.url, from: whole / 2, to: middles[at]!, health: nodeHealth(node), rate: rate(node) };
  });
}

export function upstreamHealth({ state, nodes }: UpstreamRecord): Health {
  if (nodes.every((node) => node.state === 'drained')) return 'off';
  return state === 'up' ? 'good' : state === 'degraded' ? 'fair' : 'bad';
}

export function nodeHealth({ state }: NodeRecord): Health {
  if (state === 'up') return 'good';
  if (state === 'drained') return 'off';
  return state === 'failing' || state === 'lagging' ? 'fair' : 'bad';
}

/** The path of a line across a gap of this width. */
export function path({ from, to }: Link, width: number): string {
  return `M0 ${from} C${width / 2} ${from} ${width / 2} ${to} ${width} ${to}`;
}

/** How thick a line is: ten times the calls make it a bit thicker. */
export function thickness(rate: number): number {
  return rate > 0 ? Math.min(8, 1.5 + 1.5 * Math.log10(1 + rate)) : 1;
}

function stackHeight(count: number, each: number, gap: number): number {
  return count * each + Math.max(0, count - 1) * gap;
}

/** The middles of boxes that are stacked in the middle of a column. */
function centres(count: number, each: number, gap: number, whole: number): number[] {
  const top = (whole - stackHeight(count, each, gap)) / 2;
  return Array.from({ length: count }, (_, at) => top + at * (each + gap) + each / 2);
}
