/** Messages of "Break rules" as they were tried on this server: one by one, or all in a row. */

import { computed, effect, signal } from '@preact/signals';
import { CASES, type Case } from '../broken/cases.js';
import { type Verdict, judge } from '../broken/expectation.js';
import type { Exchange } from '../rpc/exchange.js';
import { broken, brokenText } from './draft.js';
import { remember } from './history.js';
import { endpointProblem, target, transport } from './settings.js';
import { spoken } from './spoken.js';
import { begin, conclude, deliver, prepare, show, where } from './traffic.js';

/** The outcomes of the cases that were tried, by their keys. */
export const trials = signal<ReadonlyMap<string, Trial>>(new Map());

export interface Trial {
  readonly exchange: Exchange;
  readonly verdict: Verdict;
}

/** The verdicts on all exchanges of this session, by their keys. */
export const verdicts = signal<ReadonlyMap<number, Verdict>>(new Map());

/** Whether all cases are being sent. */
export const isRunning = signal(false);

/** How many were tried, and how many of them went as expected. */
export const score = computed(() => {
  const all = [...trials.value.values()];
  return { tried: all.length, right: all.filter((trial) => trial.verdict.isRight).length };
});

// What another server did says nothing about this one.
effect(() => {
  void target.value;
  trials.value = new Map();
  isRunning.value = false;
});

/** Sends the message that is prepared, as it is. */
export function sendBroken(): Exchange | undefined {
  if (endpointProblem.value) return undefined;
  const chosen = broken.value;
  const text = brokenText.value;
  const title = text === chosen.text ? chosen.title : `${chosen.title} (changed)`;
  const exchange = begin(title, text, true);
  const note = remember({ ...where(), version: '2.0', method: title, params: text, isNotification: false, message: chosen.key });
  void tryCase(chosen, exchange).then((verdict) => {
    if (!verdict) return conclude(exchange, note);
    note(verdict.isRight ? 'as expected' : 'not as expected', !verdict.isRight);
    spoken.value = verdict.text;
  });
  return exchange;
}

/** Sends the text of an exchange unread, and judges the answer if the text is that of the case. */
async function tryCase(chosen: Case, exchange: Exchange): Promise<Verdict | undefined> {
  const { text, url } = exchange.sent;
  const expected = (transport.value === 'ws' ? chosen.expectedOnSocket : undefined) ?? chosen.expected;
  await deliver(exchange, text, [], true);
  if (exchange.state !== 'done' || text !== chosen.text) return undefined;
  const verdict = judge(expected, exchange.frames.map((frame) => frame.text).join('\n'));
  verdicts.value = new Map([...verdicts.value, [exchange.key, verdict]]);
  if (url === target.value) trials.value = new Map([...trials.value, [chosen.key, { exchange, verdict }]]);
  return verdict;
}

/** Sends every case, one after the other, until one does not get through. */
export async function sendAll(): Promise<void> {
  if (isRunning.value || endpointProblem.value) return;
  trials.value = new Map();
  isRunning.value = true;
  for (const entry of CASES) {
    const exchange = prepare(entry.title, entry.text, true);
    const verdict = await tryCase(entry, exchange);
    if (!verdict) show(exchange);
    if (!verdict || !isRunning.value) break;
  }
  isRunning.value = false;
  spoken.value = `${score.value.right} of ${score.value.tried} as expected`;
}

export function stopAll(): void {
  isRunning.value = false;
}
