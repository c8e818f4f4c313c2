/** How a server should answer a message that breaks a rule, and whether it did. */

import { type Incoming, readMessage } from '../rpc/message.js';

/** What should come back. */
export type Expectation =
  /** One error with one of these codes; the ids as JSON text, where only some are right. */
  | { readonly kind: 'error'; readonly codes: readonly number[]; readonly ids?: readonly string[] }
  /** A list with as many errors of this code. */
  | { readonly kind: 'errors'; readonly code: number; readonly count: number }
  /** A list with a response for each of these ids, in any order. */
  | { readonly kind: 'answers'; readonly ids: readonly string[] }
  /** One response of any kind, with this id. */
  | { readonly kind: 'answer'; readonly id: string }
  /** No answer. */
  | { readonly kind: 'nothing' };

/** Whether the answer is as expected, and why. */
export interface Verdict {
  readonly isRight: boolean;
  readonly text: string;
}

/** Compares the answer with what is expected; an empty text means no answer. */
export function judge(expected: Expectation, received: string): Verdict {
  if (received.trim() === '') {
    return expected.kind === 'nothing'
      ? right('The server did not answer, as expected.')
      : wrong(`The server did not answer. Expected: ${wish(expected)}.`);
  }
  const message = readMessage(received);
  if (expected.kind === 'nothing') return wrong('The server answered, but this message must not be answered.');
  if (message.kind === 'batch') return judgeList(expected, message.entries);
  if (message.kind !== 'response') return wrong('The answer is not a response object.');
  return judgeOne(expected, message);
}

function judgeOne(expected: Expectation, message: Incoming & { kind: 'response' }): Verdict {
  const code = message.error?.code;
  switch (expected.kind) {
    case 'error':
      if (!message.error) return wrong('The server accepted it as a valid request.');
      if (code === undefined || !expected.codes.includes(code)) {
        return wrong(
          `The server returned ${code === undefined ? 'an error without a code' : `the code ${code}`}. Expected: ${wish(expected)}.`,
        );
      }
      if (expected.ids && !expected.ids.includes(message.id)) {
        return wrong(`The code is correct, but the id is ${message.id} instead of ${expected.ids.join(' or ')}.`);
      }
      return right(`The server returned ${code}, as expected.`);
    case 'answer':
      return message.id === expected.id
        ? right(`The server answered with the id ${message.id}, exactly as sent.`)
        : wrong(`The id came back as ${message.id} instead of ${expected.id}.`);
    default:
      return wrong(`The server returned a single object. Expected: ${wish(expected)}.`);
  }
}

function judgeList(expected: Expectation, entries: readonly Incoming[]): Verdict {
  const responses = entries.flatMap((entry) => (entry.kind === 'response' ? [entry] : []));
  if (expected.kind === 'errors') {
    const good = responses.filter((response) => response.error?.code === expected.code).length;
    return good === expected.count && entries.length === expected.count
      ? right(`The server returned ${expected.code} for each entry, as expected.`)
      : wrong(`The server returned ${entries.length} entries, ${good} of them with ${expected.code}. Expected: ${wish(expected)}.`);
  }
  if (expected.kind === 'answers') {
    const ids = responses.map((response) => response.id).sort();
    return JSON.stringify(ids) === JSON.stringify([...expected.ids].sort())
      ? right('The server answered each call, and nothing else.')
      : wrong(`The ids that came back are ${ids.join(', ')} instead of ${expected.ids.join(', ')}.`);
  }
  return wrong(`The server returned an array. Expected: ${wish(expected)}.`);
}

/** What is expected, in words. */
export function wish(expected: Expectation): string {
  switch (expected.kind) {
    case 'error':
      return `an error ${expected.codes.join(' or ')}${expected.ids ? ` with the id ${expected.ids.join(' or ')}` : ''}`;
    case 'errors':
      return `an array of ${expected.count} error${expected.count === 1 ? '' : 's'} ${expected.code}`;
    case 'answers':
      return `an array with responses for the ids ${expected.ids.join(', ')}`;
    case 'answer':
      return `a response with the id ${expected.id}`;
    case 'nothing':
      return 'no answer';
  }
}

function right(text: string): Verdict {
  return { isRight: true, text };
}

function wrong(text: string): Verdict {
  return { isRight: false, text };
}
