/** Where the ids of messages stand in a text, so that a call and its answer can be seen to belong together. */

import type { Node } from '../json/node.js';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';

/** An id, as JSON text, and its place. */
export interface IdMark {
  readonly from: number;
  readonly to: number;
  readonly id: string;
}

/** How many colours there are for ids. */
export const ID_COLOURS = 8;

/** Messages that name the id of a call in their params. */
const ABOUT_CALLS = ['rpc.cancel', 'rpc.progress', '$/cancelRequest'];

/** The ids of a text: a message, a batch, or an event stream as it came. */
export function idMarks(text: string): readonly IdMark[] {
  const { node } = parse(text);
  return node ? idsOf(text, node) : [...inEvents(text)];
}

/** The ids of a message or a batch that was parsed already. */
export function idsOf(text: string, node: Node): readonly IdMark[] {
  const messages = node.kind === 'array' ? node.items : [node];
  return messages.flatMap((message) => {
    const method = member(message, 'method');
    const isAboutCall = method?.kind === 'string' && ABOUT_CALLS.includes(method.value);
    const named = [member(message, 'id'), isAboutCall ? member(member(message, 'params'), 'id') : undefined];
    return named.flatMap((id) => (id ? [{ from: id.from, to: id.to, id: source(text, id) }] : []));
  });
}

function* inEvents(text: string): Generator<IdMark> {
  for (const { 0: line, index } of text.matchAll(/^data: ?\{.*$/gm)) {
    const start = line.indexOf('{');
    const { node } = parse(line.slice(start));
    if (!node) continue;
    for (const { from, to, id } of idsOf(line.slice(start), node)) yield { from: index + start + from, to: index + start + to, id };
  }
}

/** The number of the colour of an id: the same for the same id, and different for ids in a row. */
export function idColour(id: string): number {
  if (/^\d{1,15}$/.test(id)) return Number(id) % ID_COLOURS;
  let hash = 0;
  for (const character of id) hash = (hash * 31 + character.codePointAt(0)!) % 65_521;
  return hash % ID_COLOURS;
}
