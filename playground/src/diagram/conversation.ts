/**
 * All messages of a visit in the order in which they went, from what the exchanges and the pushes keep.
 *
 * It is bounded: long runs of items are folded, and of everything the last rows are kept. Each row says what it leaves out.
 */

import type { Incoming } from '../rpc/message.js';
import { type Arrow, arrowOf } from './arrow.js';

/** One sending, as far as a diagram shows it. */
export interface Sending {
  readonly begun: number;
  readonly sent: { readonly text: string; readonly transport: string };
  readonly state: string;
  readonly endedAt?: number | undefined;
  readonly failure?: { readonly title: string } | undefined;
  readonly received: number;
  readonly frames: readonly { readonly text: string; readonly at: number; readonly message: Incoming }[];
  /** Messages beside the answer, such as a cancel. */
  readonly asides: readonly { readonly text: string; readonly at: number; readonly isSent: boolean }[];
}

/** A message that the server sent unasked. */
export interface Pushed {
  readonly moment: number;
  readonly text: string;
}

/** What is not kept any more. */
export interface Gone {
  /** How many pushes came before those that are kept. */
  readonly lostPushes?: number;
  /** Requests were sent before those that are kept. */
  readonly hasOlder?: boolean;
}

/** A row of a diagram. */
export type Row =
  | { readonly kind: 'arrow'; readonly arrow: Arrow }
  /** Something happened at this side. */
  | { readonly kind: 'note'; readonly at: number; readonly text: string; readonly isFailure?: boolean }
  /** Messages are not drawn here. */
  | { readonly kind: 'fold'; readonly text: string };

/** The most rows. */
export const MOST = 120;
/** Longer runs of items are folded, with as many left at each end. */
const RUN = 6;
const LEFT = 2;
/** No more messages than this are looked at. */
const READ = 2000;

/** The rows of these sendings, the newest of which come first, and pushes, the newest of which come last. */
export function conversation(
  sendings: readonly Sending[],
  pushes: readonly Pushed[],
  { lostPushes = 0, hasOlder = false }: Gone = {},
): readonly Row[] {
  const rows: Row[] = [];
  let left = 0;
  for (const sending of sendings) {
    if (rows.length < READ) rows.push(...rowsOf(sending));
    else left += 1 + sending.received + sending.asides.length;
  }
  const [first] = pushes;
  if (first && lostPushes > 0) rows.push({ kind: 'note', at: first.moment, text: `${count(lostPushes, 'message')} not kept` });
  rows.push(...pushes.flatMap(rowsOfPush));
  return fit(rows.sort((a, b) => momentOf(a) - momentOf(b)), left, hasOlder);
}

/** Something that went over a wire, in the order in which it went. */
export interface OnWire {
  readonly at: number;
  readonly sent: boolean;
  /** What the transport adds, not a message. */
  readonly head: boolean;
  readonly text: string;
}

/** The rows of a wire, of which so many messages are not kept. */
export function conversationOf(wire: readonly OnWire[], lost: number): readonly Row[] {
  const messages = wire.filter(({ head }) => !head);
  const rows = messages.slice(-READ).map((message) => once(message, () => arrowOf(message.text, message.at, message.sent)));
  return fit(rows, lost + messages.length - rows.length, false);
}

/** The last of these rows, with runs folded. */
function fit(rows: readonly Row[], leftBefore: number, hasOlder: boolean): readonly Row[] {
  const folded = foldRuns(rows);
  const left = leftBefore + Math.max(0, folded.length - MOST);
  const kept = folded.slice(-MOST);
  if (left > 0) return [{ kind: 'fold', text: `${count(left, 'earlier message')} left out` }, ...kept];
  return hasOlder ? [{ kind: 'fold', text: 'earlier messages left out' }, ...kept] : kept;
}

/** Rows that do not change any more; what they are made from is read once. */
const known = new WeakMap<object, Row>();

function once(key: object, make: () => Arrow): Row {
  let row = known.get(key);
  if (!row) known.set(key, (row = { kind: 'arrow', arrow: make() }));
  return row;
}

function rowsOf(sending: Sending): Row[] {
  const { begun, sent, frames, received, endedAt, failure } = sending;
  const areItems = sent.transport !== 'ws' && (received > 1 || sending.state === 'live');
  const rows = [once(sent, () => arrowOf(sent.text, begun, true))];
  const lost = received - frames.length;
  const first = frames[0];
  if (lost > 0 && first) rows.push({ kind: 'note', at: begun + first.at, text: `${count(lost, 'message')} not kept` });
  for (const frame of frames) rows.push(once(frame, () => arrowOf(frame.text, begun + frame.at, false, areItems, frame.message)));
  for (const aside of sending.asides) rows.push(once(aside, () => arrowOf(aside.text, begun + aside.at, aside.isSent)));
  if (failure) rows.push({ kind: 'note', at: begun + (endedAt ?? 0), text: failure.title, isFailure: true });
  else if (sending.state === 'stopped' && sent.transport !== 'ws') {
    rows.push({ kind: 'note', at: begun + (endedAt ?? 0), text: 'request aborted' });
  }
  return rows;
}

function rowsOfPush(push: Pushed): Row[] {
  const row = once(push, () => arrowOf(push.text, push.moment, false));
  if (row.kind !== 'arrow' || row.arrow.kind !== 'call' || row.arrow.id === undefined) return [row];
  // The page serves no methods, and says so at once.
  const { id } = row.arrow;
  const refusal: Arrow = { at: push.moment, isSent: true, kind: 'error', word: 'error', detail: '-32601 Method not found', id };
  return [row, { kind: 'arrow', arrow: refusal }];
}

function momentOf(row: Row): number {
  return row.kind === 'arrow' ? row.arrow.at : row.kind === 'note' ? row.at : 0;
}

function foldRuns(rows: readonly Row[]): Row[] {
  const folded: Row[] = [];
  for (let at = 0; at < rows.length; ) {
    const run = runOf(rows[at]!);
    let end = at + 1;
    while (run !== undefined && end < rows.length && runOf(rows[end]!) === run) end += 1;
    const length = end - at;
    if (length <= RUN) folded.push(...rows.slice(at, end));
    else {
      const text = `${(length - 2 * LEFT).toLocaleString('en')} more like this`;
      folded.push(...rows.slice(at, at + LEFT), { kind: 'fold', text }, ...rows.slice(end - LEFT, end));
    }
    at = end;
  }
  return folded;
}

function runOf(row: Row): string | undefined {
  return row.kind === 'arrow' && row.arrow.run !== undefined ? `${row.arrow.isSent} ${row.arrow.run}` : undefined;
}

function count(many: number, what: string): string {
  return `${many.toLocaleString('en')} ${what}${many === 1 ? '' : 's'}`;
}
