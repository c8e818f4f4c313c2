/** What a message does not keep to, in plain words. These are remarks: any text can be sent. */

import type { Node, Obj } from '../json/node.js';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';

/** A remark on a part of a text. */
export interface Remark {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  /** It breaks a rule, so the server is expected to refuse it; anything else is advice. */
  readonly isBreach: boolean;
}

/** Members of requests: those of the protocol, and the call options that Switchboard knows beside them. */
const MEMBERS = ['jsonrpc', 'method', 'params', 'id', 'stream', 'progress', 'timeoutMs', 'metadata'];

/** Everything to remark on a text that is about to be sent. */
export function remarks(text: string): readonly Remark[] {
  if (text.trim() === '') return [breach({ from: 0, to: 0 }, 'The message is empty. Servers answer with -32700, Parse error.')];
  const { node, fault } = parse(text);
  if (fault) {
    const place = { from: fault.at, to: Math.min(fault.at + 1, text.length) };
    return [breach(place, `Not valid JSON: ${fault.message}. Servers answer with -32700, Parse error.`)];
  }
  if (node.kind === 'object') return [...inRequest(node)];
  if (node.kind === 'array') return [...inBatch(text, node, node.items)];
  return [breach(node, 'A message is an object, or an array of objects for a batch.')];
}

function* inBatch(text: string, batch: Node, entries: readonly Node[]): Generator<Remark> {
  if (entries.length === 0) yield breach(batch, 'A batch needs at least one request. Servers answer an empty one with a single -32600.');
  const seen = new Set<string>();
  for (const entry of entries) {
    if (entry.kind !== 'object') {
      yield breach(entry, 'Every entry of a batch must be an object.');
      continue;
    }
    yield* inRequest(entry);
    const id = member(entry, 'id');
    if (!id || id.kind === 'null') continue;
    const key = source(text, id);
    if (seen.has(key)) yield advice(id, `The id ${key} appears twice in this batch, so its answers cannot be told apart.`);
    seen.add(key);
  }
}

function* inRequest(request: Obj): Generator<Remark> {
  const [version, method, params, id] = ['jsonrpc', 'method', 'params', 'id'].map((name) => member(request, name));
  const start = { from: request.from, to: request.from + 1 };
  const isFirstVersion = !version && method?.kind === 'string' && params?.kind === 'array' && id !== undefined;
  if (!version && !isFirstVersion) yield breach(start, '"jsonrpc" is missing. Version 2.0 requires "jsonrpc": "2.0".');
  if (version && !(version.kind === 'string' && version.value === '2.0')) yield breach(version, '"jsonrpc" must be the string "2.0".');
  if (!method) yield breach(start, '"method" is missing, so there is nothing to call.');
  else if (method.kind !== 'string') yield breach(method, '"method" must be a string.');
  if (params && params.kind !== 'array' && params.kind !== 'object') {
    yield breach(params, '"params" must be an array or an object. Leave it out if there are none.');
  }
  yield* inId(id, isFirstVersion);
  yield* inNames(request);
}

function* inId(id: Node | undefined, isFirstVersion: boolean): Generator<Remark> {
  if (id?.kind === 'boolean' || id?.kind === 'array' || id?.kind === 'object') yield breach(id, '"id" must be a string or a number.');
  if (id?.kind === 'null' && !isFirstVersion) {
    yield advice(id, 'With "id": null this is a call, not a notification, and its answer is hard to match. Leave "id" out to send a notification.');
  }
  if (id?.kind === 'number' && /[.eE]/.test(id.value)) yield advice(id, '"id" should be a whole number or a string.');
}

function* inNames(request: Obj): Generator<Remark> {
  const seen = new Set<string>();
  for (const { name, at } of request.members) {
    if (seen.has(name)) yield breach(at, `"${name}" appears twice, and parsers disagree on which one counts.`);
    else if (!MEMBERS.includes(name)) yield advice(at, `"${name}" is not part of JSON-RPC. Most servers ignore it.`);
    seen.add(name);
  }
}

function breach({ from, to }: { from: number; to: number }, message: string): Remark {
  return { from, to, message, isBreach: true };
}

function advice({ from, to }: { from: number; to: number }, message: string): Remark {
  return { from, to, message, isBreach: false };
}
