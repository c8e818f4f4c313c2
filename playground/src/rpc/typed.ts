/** A message that was typed by hand, read back as far as it can be. */

import type { Node } from '../json/node.js';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import type { Intent, Version } from './message.js';
import { remarks } from './remarks.js';

/** A request with the id that was typed, as JSON text. */
export type TypedRequest = Omit<Intent, 'version'> & {
  /** Unknown where the message fits neither version. */
  readonly version: Version | undefined;
  readonly id: string | undefined;
};

/** The requests of a text: one, or those of a batch. Undefined where one of them cannot be read. */
export function readTyped(text: string): TypedRequest | readonly TypedRequest[] | undefined {
  const { node } = parse(text);
  if (node?.kind !== 'array') return node && readRequest(text, node);
  const entries = node.items.map((item) => readRequest(text, item));
  return entries.length > 0 && entries.every((entry) => entry !== undefined) ? entries : undefined;
}

function readRequest(text: string, node: Node): TypedRequest | undefined {
  const [version, method, params, id] = ['jsonrpc', 'method', 'params', 'id'].map((name) => member(node, name));
  if (method?.kind !== 'string' || (params && params.kind !== 'array' && params.kind !== 'object')) return undefined;
  const isFirst = !version && params?.kind === 'array' && id !== undefined;
  const stream = member(node, 'stream');
  return {
    version: isFirst ? '1.0' : version?.kind === 'string' && version.value === '2.0' ? '2.0' : undefined,
    method: method.value,
    params: params ? source(text, params) : '',
    isNotification: isFirst ? id.kind === 'null' : id === undefined,
    wantsStream: stream?.kind === 'boolean' && stream.value === 'true',
    id: id && source(text, id),
  };
}

/** The ids that a text waits for; undefined where it breaks a rule, so that anything may come back. */
export function awaited(text: string): readonly string[] | undefined {
  const typed = readTyped(text);
  if (!typed || remarks(text).some(({ isBreach }) => isBreach)) return undefined;
  const all = 'method' in typed ? [typed] : typed;
  return all.flatMap(({ isNotification, id }) => (isNotification || id === undefined ? [] : [id]));
}
