/** A call, its batch and what it called at its caller, as bars over time. */

import type { CallRecord, Step, Timeline } from './records.js';

/** Something that lasted. */
export interface Bar {
  /** The call that was asked for, another entry of its batch, or a call back to its caller. */
  readonly kind: 'own' | 'entry' | 'callback';
  /** Entry of the batch, or number of the call back; undefined for a call outside a batch. */
  readonly number: number | undefined;
  readonly label: string;
  /** How it ended. */
  readonly detail: string;
  /** Milliseconds since the call began. */
  readonly from: number;
  readonly to: number;
  readonly isFailed: boolean;
}

/** What is known of a call from the list alone. */
export function alone(call: CallRecord): Timeline {
  const steps = [
    { at: 0, name: 'begun', detail: `${nameOf(call)} over ${call.transport}` },
    { at: call.ms, name: 'ended', detail: outcomeOf(call) },
  ];
  return { call, steps };
}

/** The bars: entries of a batch in their order, and calls back below the call that made them. */
export function bars({ call, steps }: Timeline): Bar[] {
  const detail = steps.find((step) => step.name === 'ended')?.detail ?? call.outcome;
  const isFailed = call.outcome !== 'ok';
  const own: Bar = { kind: 'own', number: call.entry, label: nameOf(call), detail, from: 0, to: call.ms, isFailed };
  const entries = [own, ...others('entry', steps, call.ms)].sort((one, other) => (one.number ?? 0) - (other.number ?? 0));
  const callbacks = others('callback', steps, call.ms);
  return entries.flatMap((bar) => (bar === own ? [bar, ...callbacks] : [bar]));
}

/** The method of a call, or a text for messages without one. */
export function nameOf(call: CallRecord): string {
  return named(call.method);
}

/** How a call ended, in words. */
export function outcomeOf({ outcome, code }: CallRecord): string {
  return code === undefined ? outcome : `${outcome} ${code}`;
}

/** The times that all bars are between. A call that took no time still gets some room. */
export function extent(all: readonly Bar[]): { readonly from: number; readonly to: number } {
  const from = Math.min(...all.map((bar) => bar.from));
  return { from, to: Math.max(from + 0.001, ...all.map((bar) => bar.to)) };
}

function named(method: string): string {
  return method === '' ? '(unreadable message)' : method;
}

/** Bars of what the server writes as `entry 2: math/add`, and as `entry 2: math/add ok` when it ends; calls back likewise. */
function others(kind: 'entry' | 'callback', steps: readonly Step[], end: number): Bar[] {
  return steps.flatMap((begun) => {
    const [prefix, number] = /^(?:entry|call) (\d+): /.exec(begun.detail) ?? [];
    if (begun.name !== `${kind} begun` || prefix === undefined) return [];
    const ended = steps.find((step) => step.name === `${kind} ended` && step.detail.startsWith(`${begun.detail} `));
    const detail = ended?.detail.slice(begun.detail.length + 1) ?? 'not ended';
    const to = ended?.at ?? Math.max(begun.at, end);
    const label = named(begun.detail.slice(prefix.length));
    return [{ kind, number: Number(number), label, detail, from: begun.at, to, isFailed: !/^(?:ok|sent|not ended)\b/.test(detail) }];
  });
}
