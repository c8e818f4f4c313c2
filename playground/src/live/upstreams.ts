/** The servers behind a gateway, as far as they are shown. */

import { effect, signal } from '@preact/signals';
import { generation, isLive, token } from './connection.js';
import { frame, isVisible } from './frame.js';
import { Rates } from './rates.js';
import type { Stats, UpstreamRecord } from './records.js';
import { Rows } from './rows.js';
import { follow } from './wire.js';

/** Whether the server is a gateway. */
export const hasUpstreams = signal(false);
export let upstreams: readonly UpstreamRecord[] = [];
/** Calls by transport. */
export let transports = new Rows();
/** Calls to upstreams, and to their servers. */
let rates = new Rates();

/** Calls per second to an upstream, or to one of its servers. */
export function rateOf(upstream: string, url = ''): number {
  return rates.of(keyOf(upstream, url), performance.now());
}

function keyOf(upstream: string, url: string): string {
  return `${upstream} ${url}`;
}

function take(list: readonly UpstreamRecord[]): void {
  upstreams = list;
  hasUpstreams.value = list.length > 0;
  const counts = new Map<string, number>();
  for (const { name, calls, nodes } of list) {
    counts.set(keyOf(name, ''), calls);
    for (const node of nodes) counts.set(keyOf(name, node.url), node.calls);
  }
  rates.add(performance.now(), counts);
  frame.redraw();
}

// Counts of another process begin again.
effect(() => {
  void generation.value;
  rates = new Rates();
  transports = new Rows();
});

effect(() => {
  if (!isLive.value || !isVisible.value) return undefined;
  const abort = new AbortController();
  // If this fails, so do the numbers, which then connect again.
  follow<readonly UpstreamRecord[]>({ method: 'admin/upstreams', token: token.peek(), signal: abort.signal }, take).catch(() => {});
  return () => abort.abort();
});

effect(() => {
  if (!isLive.value || !isVisible.value || !hasUpstreams.value) return undefined;
  const abort = new AbortController();
  const outgoing = { method: 'admin/stats', params: { by: 'transport' }, token: token.peek(), signal: abort.signal };
  follow<Stats>(outgoing, ({ seconds, rows }) => transports.add(seconds, rows)).catch(() => {});
  return () => abort.abort();
});
