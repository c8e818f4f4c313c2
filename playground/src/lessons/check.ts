/** What a step of a lesson looks for in the real answer, and whether it is there. */

import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { compact } from '../json/print.js';
import type { Incoming } from '../rpc/message.js';

/** Results and ids are JSON text. */
export type Check =
  | { readonly kind: 'result'; readonly result?: string; readonly id: string }
  | { readonly kind: 'error'; readonly code: number; readonly id?: string }
  | { readonly kind: 'nothing' }
  | { readonly kind: 'answers'; readonly answers: readonly { readonly id: string; readonly result?: string; readonly error?: number }[] }
  | { readonly kind: 'items'; readonly items: readonly string[] }
  | { readonly kind: 'pushes'; readonly method: string; readonly least: number }
  /** Answers to these ids, in this order. */
  | { readonly kind: 'order'; readonly ids: readonly string[] };

/** The messages received so far. */
export interface Seen {
  /** Messages of the answer, in the order in which they came. */
  readonly messages: readonly Incoming[];
  readonly pushes: readonly Incoming[];
  /** Nothing more is expected. */
  readonly isOver: boolean;
}

export type Verdict = { readonly state: 'waiting' | 'passed' } | { readonly state: 'different'; readonly text: string };

/** Looks for what a step expects. */
export function look(check: Check, seen: Seen): Verdict {
  if (holds(check, seen)) return { state: 'passed' };
  // Pushes may come as long as the connection is there.
  const canWait = !seen.isOver || (check.kind === 'pushes' && !seen.messages.some((message) => errorOf(message)));
  if (canWait) return { state: 'waiting' };
  return { state: 'different', text: `Expected ${expectation(check)}. The server sent ${received(seen)}.` };
}

function holds(check: Check, { messages, pushes, isOver }: Seen): boolean {
  const only = messages.length === 1 ? messages[0]! : undefined;
  switch (check.kind) {
    case 'result':
      return isOver && only !== undefined && isAnswer(only, check);
    case 'error':
      return isOver && only !== undefined && isAnswer(only, { ...check, error: check.code });
    case 'nothing':
      return isOver && messages.length === 0;
    case 'answers': {
      if (only?.kind !== 'batch' || only.entries.length !== check.answers.length) return false;
      const { entries } = only;
      return check.answers.every((answer) => entries.some((entry) => isAnswer(entry, answer)));
    }
    case 'items':
      return isOver && JSON.stringify(messages.flatMap(itemOf)) === JSON.stringify(check.items);
    case 'pushes':
      return pushes.filter((push) => push.kind === 'call' && push.method === check.method).length >= check.least;
    case 'order': {
      const ids = messages.flatMap((message) => (message.kind === 'response' ? [message.id] : []));
      return JSON.stringify(ids) === JSON.stringify(check.ids);
    }
  }
}

function isAnswer(message: Incoming, expected: { readonly id?: string; readonly result?: string; readonly error?: number }): boolean {
  if (message.kind !== 'response' || (expected.id !== undefined && message.id !== expected.id)) return false;
  if (expected.error !== undefined) return message.error?.code === expected.error;
  if (message.result === undefined || message.error) return false;
  return expected.result === undefined || compact(message.result) === expected.result;
}

/** The items that a message holds: a response in an event stream, or a notification on a connection. */
function itemOf(message: Incoming): string[] {
  if (message.kind === 'response') return message.isStream || message.result === undefined ? [] : [compact(message.result)];
  if (message.kind !== 'call') return [];
  const item = member(parse(message.params).node, 'result');
  return item ? [compact(source(message.params, item))] : [];
}

function errorOf(message: Incoming) {
  return message.kind === 'response' ? message.error : undefined;
}

function expectation(check: Check): string {
  switch (check.kind) {
    case 'result':
      return `${check.result === undefined ? 'a result' : `the result ${check.result}`} with the id ${check.id}`;
    case 'error':
      return `the error ${check.code}${check.id === undefined ? '' : ` with the id ${check.id}`}`;
    case 'nothing':
      return 'no answer';
    case 'answers':
      return `an array with answers to ${check.answers.map(({ id }) => id).join(' and ')}`;
    case 'items':
      return `${check.items.length} items: ${check.items.join(', ')}`;
    case 'pushes':
      return `the notification ${check.method}`;
    case 'order':
      return `answers to ${check.ids.join(' and ')}, in this order`;
  }
}

/** The answer, in a few words. */
function received({ messages }: Seen): string {
  const first = messages[0];
  if (!first) return 'nothing';
  if (messages.length > 1) return `${messages.length} messages`;
  if (first.kind === 'batch') return `an array of ${first.entries.length}`;
  if (first.kind !== 'response') return 'a message that is not a response';
  const { error, result = 'null', id } = first;
  const what = error ? `the error ${error.code ?? 'without a code'}` : `the result ${shortened(compact(result))}`;
  return `${what} with the id ${id}${error?.code === -32601 ? ': it has no such method' : ''}`;
}

function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
