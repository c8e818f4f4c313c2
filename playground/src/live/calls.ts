/** The calls that are listed. */

import { computed, effect, signal } from '@preact/signals';
import { generation, isLive, token } from './connection.js';
import { EVERYTHING, type Filter, readFilter } from './filter.js';
import { callsFrame, isVisible } from './frame.js';
import type { CallRecord } from './records.js';
import { CallFailure, follow } from './wire.js';

/** Calls that are kept. */
const KEPT = 500;
/** Calls of the past that are asked for. */
const TAIL = 100;
/** More calls in a second than this are not read one by one: then the list has the last ones of each second. */
const MOST_PER_SECOND = 200;
const SAMPLE = 40;

export const filter = signal<Filter>(EVERYTHING);
export const isPaused = signal(false);
/** The list is a sample, because there are too many calls. */
export const isSampled = signal(false);
/** Why the server does not list calls. */
export const problem = signal('');
/** The calls, the latest first. */
export let calls: readonly CallRecord[] = [];

/** What the filter says. */
export const reading = computed(() => readFilter(filter.value));
/** The params to ask with: those before, while the filter cannot be read. */
const params = signal<Readonly<Record<string, unknown>>>({});

let waiting: CallRecord[] = [];

/** Notes a call for the next frame. */
function take(call: CallRecord): void {
  waiting.push(call);
  callsFrame.redraw(show);
  // Nothing is shown while the page cannot be seen.
  if (waiting.length > 2 * KEPT) waiting = waiting.slice(-KEPT);
}

/** Puts the calls that have arrived into the list. */
function show(): void {
  const known = new Set(calls.map(({ id }) => id));
  const fresh = waiting.filter(({ id }) => !known.has(id)).reverse();
  waiting = [];
  calls = [...fresh, ...calls].slice(0, KEPT);
}

effect(() => {
  const read = reading.value;
  if ('params' in read && JSON.stringify(read.params) !== JSON.stringify(params.peek())) params.value = read.params;
});

// Another filter, or another process whose calls are numbered from 1.
effect(() => {
  void params.value;
  void generation.value;
  calls = [];
  waiting = [];
  callsFrame.redraw(show);
});

effect(() => {
  if (!isLive.value || !isVisible.value || isPaused.value) return undefined;
  const abort = new AbortController();
  void listen(params.value, abort.signal);
  return () => abort.abort();
});

/** Follows the calls for as long as they are wanted. */
async function listen(wanted: Readonly<Record<string, unknown>>, stop: AbortSignal): Promise<void> {
  problem.value = '';
  for (let tail = TAIL; !stop.aborted; tail = SAMPLE) {
    const isTooMany = await once({ ...wanted, tail }, stop);
    if (stop.aborted) return;
    isSampled.value = isTooMany;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

/** Follows the calls until there are too many of them, or until the server ends the stream. */
async function once(wanted: Readonly<Record<string, unknown>>, stop: AbortSignal): Promise<boolean> {
  const abort = new AbortController();
  const end = () => abort.abort();
  stop.addEventListener('abort', end);
  const began = performance.now();
  let [second, count, isTooMany] = [0, 0, false];
  const outgoing = { method: 'admin/calls', params: wanted, token: token.peek(), signal: abort.signal };
  try {
    await follow<CallRecord>(outgoing, (call) => {
      if (abort.signal.aborted) return;
      take(call);
      const now = Math.floor((performance.now() - began) / 1000);
      // A second without a flood: every call is listed.
      if (now > second && now > 1) isSampled.value = false;
      count = now === second ? count + 1 : 1;
      second = now;
      if (count <= MOST_PER_SECOND) return;
      isTooMany = true;
      end();
    });
  } catch (error) {
    const isOwn = abort.signal.aborted || !(error instanceof CallFailure) || error.fault !== 'error';
    if (!isOwn) problem.value = error.message;
  }
  stop.removeEventListener('abort', end);
  return isTooMany;
}
