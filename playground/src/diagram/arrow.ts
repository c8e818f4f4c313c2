/** A message as an arrow between the two sides, in a few words. */

import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { compact } from '../json/print.js';
import { type Incoming, readMessage } from '../rpc/message.js';

export type Kind = 'call' | 'notification' | 'batch' | 'result' | 'error' | 'item' | 'end' | 'progress' | 'cancel' | 'other';

export interface Arrow {
  /** Milliseconds on the clock of the page. */
  readonly at: number;
  /** Sent by this page, or received. */
  readonly isSent: boolean;
  readonly kind: Kind;
  /** What it is, in a word or two. */
  readonly word: string;
  /** What it holds; may be long. */
  readonly detail: string;
  /** The id it has, or is about, as JSON text. */
  readonly id?: string;
  /** What names the stream or the pushes that it is one of. */
  readonly run?: string;
}

/** Longer details are cut: an arrow is short. */
const LONGEST = 200;
/** Longer texts are not taken apart for an arrow. */
const READ = 20_000;

/** The arrow of a message. Where several responses share an id, each is an item. */
export function arrowOf(text: string, at: number, isSent: boolean, isItem = false, message: Incoming = readMessage(text)): Arrow {
  const base = { at, isSent };
  switch (message.kind) {
    case 'batch': {
      const names = message.entries.map((entry) => (entry.kind === 'call' ? entry.method : 'answer'));
      const word = message.entries.every((entry) => entry.kind === 'call') ? 'batch' : 'answers';
      return { ...base, kind: 'batch', word: `${word} of ${names.length}`, detail: word === 'batch' ? cut(names.join(', ')) : '' };
    }
    case 'call':
      return { ...base, ...called(message, isSent) };
    case 'response':
      return { ...base, ...answered(message, isItem) };
    default:
      return { ...base, kind: 'other', word: 'text', detail: cut(text) };
  }
}

function answered(message: Incoming & { kind: 'response' }, isItem: boolean): Omit<Arrow, 'at' | 'isSent'> {
  const { error, result = '', id, isStream } = message;
  if (error) return { kind: 'error', word: 'error', detail: cut(`${error.code ?? ''} ${error.message}`.trim()), id };
  const detail = short(result);
  if (isItem) return { kind: 'item', word: 'item', detail, id, run: id };
  return { kind: 'result', word: isStream ? 'stream opened' : 'result', detail, id };
}

function called(message: Incoming & { kind: 'call' }, isSent: boolean): Omit<Arrow, 'at' | 'isSent'> {
  const { method, params, id } = message;
  const { node } = params.length > READ ? { node: undefined } : parse(params);
  const part = (name: string) => {
    const found = member(node, name);
    return found && source(params, found);
  };
  if (/^(rpc\.|\$\/)cancel/.test(method)) return { kind: 'cancel', word: 'cancel', detail: '', ...named(part('id')) };
  if (method === 'notifications/cancelled') return { kind: 'cancel', word: 'cancel', detail: '', ...named(part('requestId')) };
  if (method === 'notifications/progress') {
    return { kind: 'progress', word: 'progress', detail: short(params), run: `progress ${part('progressToken') ?? ''}` };
  }
  if (/unsubscribe$/.test(method)) return { kind: 'cancel', word: 'unsubscribe', detail: short(params), ...named(id) };
  const subscription = part('subscription');
  if (method === 'rpc.end') return { kind: 'end', word: 'end', detail: subscription ? `stream ${subscription}` : '' };
  if (method === 'rpc.progress') {
    return { kind: 'progress', word: 'progress', detail: short(part('value') ?? params), ...named(part('id')) };
  }
  if (subscription !== undefined) {
    const item = part('result') ?? part('error') ?? params;
    return { kind: 'item', word: 'item', detail: `${short(item)} of stream ${subscription}`, run: `stream ${subscription}` };
  }
  const detail = cut(`${method} ${short(params)}`.trim());
  if (id === undefined) return { kind: 'notification', word: isSent ? 'notify' : 'push', detail, run: method };
  return { kind: 'call', word: 'call', detail, id };
}

function named(id: string | undefined): { readonly id?: string } {
  return id === undefined ? {} : { id };
}

/** Members that every message of MCP has, and that say nothing about this one. */
const USUAL = ['_meta', 'resultType'];

function short(json: string): string {
  if (json.length > READ) return cut(json);
  const { node } = /"_meta"/.test(json) ? parse(json) : { node: undefined };
  if (node?.kind !== 'object') return cut(compact(json));
  const rest = node.members.filter(({ name }) => !USUAL.includes(name));
  return cut(rest.length === 0 ? '' : compact(`{${rest.map((m) => `${JSON.stringify(m.name)}:${source(json, m.value)}`).join(',')}}`));
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
