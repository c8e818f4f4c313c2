/** Requests as text: what a person typed goes into them as it is. */

import { compact } from '../json/print.js';
import { parse } from '../json/parse.js';
import { member, source } from '../json/node.js';

export type Version = '2.0' | '1.0';

/** One call or notification, before it has an identifier. */
export interface Intent {
  readonly version: Version;
  readonly method: string;
  /** JSON text; empty means none. */
  readonly params: string;
  readonly isNotification: boolean;
  /** It says that its sender reads a stream, for methods that answer in either way. Over HTTP `Accept` says so. */
  readonly wantsStream?: boolean;
}

/** The request object. An identifier is JSON text; a notification has none. */
export function compose(intent: Intent, id: string): string {
  const method = JSON.stringify(intent.method);
  const params = compact(intent.params.trim());
  if (intent.version === '1.0') {
    return `{"method":${method},"params":${params || '[]'},"id":${intent.isNotification ? 'null' : id}}`;
  }
  const rest = intent.isNotification ? '' : `${intent.wantsStream ? ',"stream":true' : ''},"id":${id}`;
  return `{"jsonrpc":"2.0","method":${method}${params ? `,"params":${params}` : ''}${rest}}`;
}

/** A batch of request objects. */
export function composeBatch(entries: readonly string[]): string {
  return `[${entries.join(',')}]`;
}

/** A message that came in, as far as it matters what becomes of it. */
export type Incoming =
  | { readonly kind: 'response'; readonly id: string; readonly result?: string; readonly error?: RpcError; readonly isStream: boolean }
  | { readonly kind: 'call'; readonly id: string | undefined; readonly method: string; readonly params: string }
  | { readonly kind: 'batch'; readonly entries: readonly Incoming[] }
  | { readonly kind: 'other' };

/** An error object; anything else becomes its message. */
export interface RpcError {
  readonly code: number | undefined;
  readonly message: string;
  /** JSON text. */
  readonly data: string | undefined;
}

/** Reads a message without losing a digit of it. */
export function readMessage(text: string): Incoming {
  const { node } = parse(text);
  if (node?.kind === 'array') {
    return { kind: 'batch', entries: node.items.map((item) => readMessage(source(text, item))) };
  }
  if (node?.kind !== 'object') return { kind: 'other' };
  const at = (name: string) => member(node, name);
  const raw = (name: string) => (at(name) ? source(text, at(name)!) : undefined);
  const method = at('method');
  if (method?.kind === 'string') return { kind: 'call', id: raw('id'), method: method.value, params: raw('params') ?? '' };
  const error = at('error');
  const result = raw('result');
  if (error === undefined && result === undefined) return { kind: 'other' };
  const id = raw('id') ?? 'null';
  const isStream = at('stream') !== undefined;
  if (error !== undefined && error.kind !== 'null') return { kind: 'response', id, error: readError(source(text, error)), isStream: false };
  return { kind: 'response', id, result: result ?? 'null', isStream };
}

function readError(text: string): RpcError {
  const { node } = parse(text);
  const [code, message, data] = [member(node, 'code'), member(node, 'message'), member(node, 'data')];
  return {
    code: code?.kind === 'number' ? Number(code.value) : undefined,
    message: message?.kind === 'string' ? message.value : text,
    data: data ? source(text, data) : undefined,
  };
}
