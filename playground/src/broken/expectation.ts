/** What a server that keeps to the rules does with a message that does not, and whether one did. */

import { type Incoming, readMessage } from '../rpc/message.js';

/** What should come back. */
export type Expectation =
  /** One error with one of these codes; the identifier as JSON text, where only one is right. */
  | { readonly kind: 'error'; readonly codes: readonly number[]; readonly ids?: readonly string[] }
  /** A list with as many errors of this code. */
  | { readonly kind: 'errors'; readonly code: number; readonly count: number }
  /** A list with an answer to each of these identifiers, in any order. */
  | { readonly kind: 'answers'; readonly ids: readonly string[] }
  /** One answer, whatever it is, with this identifier. */
  | { readonly kind: 'answer'; readonly id: string }
  /** Nothing at all. */
  | { readonly kind: 'nothing' };

/** Whether the server did right, in words. */
export interface Verdict {
  readonly isRight: boolean;
  readonly text: string;
}

/** Looks at what came back; an empty text means that nothing did. */
export function judge(expected: Expectation, received: string): Verdict {
  if (received.trim() === '') {
    return expected.kind === 'nothing'
      ? right('The server said nothing, as it should.')
      : wrong(`The server said nothing; ${wish(expected)} was due.`);
  }
  const message = readMessage(received);
  if (expected.kind === 'nothing') return wrong('The server answered, though nothing may be answered here.');
  if (message.kind === 'batch') return judgeList(expected, message.entries);
  if (message.kind !== 'response') return wrong('What came back is no response object.');
  return judgeOne(expected, message);
}

function judgeOne(expected: Expectation, message: Incoming & { kind: 'response' }): Verdict {
  const code = message.error?.code;
  switch (expected.kind) {
    case 'error':
      if (!message.error) return wrong('The server took it for a good request.');
      if (code === undefined || !expected.codes.includes(code)) {
        return wrong(`The server answered with the code ${code ?? 'missing'}; ${wish(expected)} was due.`);
      }
      if (expected.ids && !expected.ids.includes(message.id)) {
        return wrong(`The code is right, but the identifier is ${message.id} instead of ${expected.ids.join(' or ')}.`);
      }
      return right(`The server answered with ${code}, as it should.`);
    case 'answer':
      return message.id === expected.id
        ? right(`The server answered with the identifier ${message.id}, as it was sent.`)
        : wrong(`The identifier came back as ${message.id} instead of ${expected.id}.`);
    default:
      return wrong(`One object came back; ${wish(expected)} was due.`);
  }
}

function judgeList(expected: Expectation, entries: readonly Incoming[]): Verdict {
  const responses = entries.flatMap((entry) => (entry.kind === 'response' ? [entry] : []));
  if (expected.kind === 'errors') {
    const good = responses.filter((response) => response.error?.code === expected.code).length;
    return good === expected.count && entries.length === expected.count
      ? right(`Each entry was answered with ${expected.code}, as it should.`)
      : wrong(`${entries.length} entries came back, ${good} of them with ${expected.code}; ${wish(expected)} was due.`);
  }
  if (expected.kind === 'answers') {
    const ids = responses.map((response) => response.id).sort();
    return JSON.stringify(ids) === JSON.stringify([...expected.ids].sort())
      ? right('Each call was answered, and nothing else.')
      : wrong(`The identifiers that came back are ${ids.join(', ')} instead of ${expected.ids.join(', ')}.`);
  }
  return wrong(`A list came back; ${wish(expected)} was due.`);
}

/** What is due, in words. */
export function wish(expected: Expectation): string {
  switch (expected.kind) {
    case 'error':
      return `one error ${expected.codes.join(' or ')}${expected.ids ? ` with the identifier ${expected.ids.join(' or ')}` : ''}`;
    case 'errors':
      return `a list of ${expected.count} error${expected.count === 1 ? '' : 's'} ${expected.code}`;
    case 'answers':
      return `a list with an answer to ${expected.ids.join(', ')}`;
    case 'answer':
      return `an answer with the identifier ${expected.id}`;
    case 'nothing':
      return 'nothing';
  }
}

function right(text: string): Verdict {
  return { isRight: true, text };
}

function wrong(text: string): Verdict {
  return { isRight: false, text };
}
