/** The numbers that the server streams, as far as they are shown. */

import { effect, signal } from '@preact/signals';
import { generation, info, isLive, lost, token } from './connection.js';
import { frame, isVisible, sessionsFrame } from './frame.js';
import type { By, SessionRecord, Stats } from './records.js';
import { Rows } from './rows.js';
import { Series, Tally, spanOf } from './series.js';
import { follow } from './wire.js';

export const series = new Series();
/** Failed calls, refused messages and security events by kind. */
export const errors = new Tally();
export const refused = new Tally();
export const security = new Tally();
/** The latest numbers. */
export let latest: Stats | undefined;
export let rows = new Rows();
export let sessions: readonly SessionRecord[] = [];

/** What the rows of the table are about. */
export const by = signal<By>('method');
/** How many milliseconds the charts are to show. */
export const chosenSpan = signal(5 * 60_000);
/** How many they show: fewer while there are not so many yet. */
export const span = signal(60_000);
/** The time that the reader points at in a chart. */
export const cursor = signal<number | undefined>(undefined);

/** Without numbers for this long, the connection is taken to be lost. */
const SILENCE = 10_000;
/** How far the clock of the server is ahead of ours. */
let skew = 0;

/** The time on the clock of the server, in milliseconds since 1970. */
export function serverNow(): number {
  return Date.now() + skew;
}

/** The upper limits of buckets. */
export function limits(): readonly number[] {
  return info.value?.bucketsMs ?? [];
}

function take(stats: Stats): void {
  latest = stats;
  skew = stats.t - Date.now();
  series.add(stats);
  errors.add(stats.t, stats.errors);
  refused.add(stats.t, stats.refused);
  security.add(stats.t, stats.security);
  rows.add(stats.seconds, stats.rows);
  span.value = spanOf(series, chosenSpan.value);
  frame.redraw();
}

effect(() => {
  span.value = spanOf(series, chosenSpan.value);
});

// Rows of another kind, or of another process, have nothing to do with those before.
effect(() => {
  void generation.value;
  void by.value;
  rows = new Rows();
  frame.redraw();
});

effect(() => {
  if (!isLive.value) return undefined;
  const abort = new AbortController();
  const silent = () => {
    abort.abort();
    lost(undefined);
  };
  let timer = setTimeout(silent, SILENCE);
  const outgoing = { method: 'admin/stats', params: { by: by.value }, token: token.peek(), signal: abort.signal };
  const ended = (error?: unknown) => {
    clearTimeout(timer);
    if (!abort.signal.aborted) lost(error);
  };
  follow<Stats>(outgoing, (stats) => {
    clearTimeout(timer);
    timer = setTimeout(silent, SILENCE);
    if (!abort.signal.aborted) take(stats);
  }).then(() => ended(), ended);
  return () => {
    clearTimeout(timer);
    abort.abort();
  };
});

effect(() => {
  if (!isLive.value || !isVisible.value) return undefined;
  const abort = new AbortController();
  const outgoing = { method: 'admin/sessions', params: { every: '2s' }, token: token.peek(), signal: abort.signal };
  // If this fails, so do the numbers, which then connect again.
  follow<readonly SessionRecord[]>(outgoing, (list) => {
    sessions = list;
    sessionsFrame.redraw();
  }).catch(() => {});
  return () => abort.abort();
});
