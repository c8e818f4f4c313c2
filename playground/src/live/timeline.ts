/** A call and its batch as bars over time. */

import type { CallRecord, Step, Timeline } from './records.js';

/** Something that lasted. */
export interface Bar {
  /** Entry of the batch; undefined outside a batch. */
  readonly entry: number | undefined;
  readonly label: string;
  /** How it ended. */
  readonly detail: string;
  /** Milliseconds since the call began. */
  readonly from: number;
  readonly to: number;
  readonly isFailed: boolean;
  /** It is the call that was asked for. */
  readonly isOwn: boolean;
}

/** What is known of a call from the list alone. */
export function alone(call: CallRecord): Timeline {
  const steps = [
    { at: 0, name: 'begun', detail: `${nameOf(call)} over ${call.transport}` },
    { at: call.ms, name: 'ended', detail: outcomeOf(call) },
  ];
  return { call, steps };
}

/** The bars: entries of a batch in their order. */
export function bars({ call, steps }: Timeline): Bar[] {
  const outcome = steps.find((step) => step.name === 'ended')?.detail ?? call.outcome;
  const own: Bar = {
    entry: call.entry,
    label: nameOf(call),
    detail: outcome,
    from: 0,
    to: call.ms,
    isFailed: call.outcome !== 'ok',
    isOwn: true,
  };
  const others = steps.filter((step) => step.name === 'entry ended').flatMap((ended) => entryBar(ended, steps));
  return [own, ...others].sort((one, other) => (one.entry ?? 0) - (other.entry ?? 0));
}

/** The method of a call, or a text for messages without one. */
export function nameOf(call: CallRecord): string {
  return call.method === '' ? '(unreadable message)' : call.method;
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

/** The server writes `entry 2: math/add ok`. */
function entryBar(ended: Step, steps: readonly Step[]): Bar[] {
  const read = /^entry (\d+): (\S*) ?(.*)$/.exec(ended.detail);
  if (!read) return [];
  const [, entry = '', label = '', detail = ''] = read;
  const begun = steps.find((step) => step.name === 'entry begun' && step.detail.startsWith(`entry ${entry}: `));
  const from = begun?.at ?? ended.at;
  return [{ entry: Number(entry), label, detail, from, to: ended.at, isFailed: !/^ok\b/.test(detail), isOwn: false }];
}
