/** Changes one member or item of a JSON text and leaves the others as they are written. */

import { source } from './node.js';
import { parse } from './parse.js';
import { pretty } from './print.js';

/** The object with this member set to a JSON text, or without it. Anything but an object counts as an empty one. */
export function setMember(text: string, name: string, value: string | undefined): string {
  const { node } = parse(text);
  const members = node?.kind === 'object' ? node.members.map((m) => [m.name, source(text, m.value)] as const) : [];
  const isKnown = members.some(([known]) => known === name);
  const changed = members.flatMap(([known, old]) =>
    known !== name ? [[known, old] as const] : value === undefined ? [] : [[known, value] as const],
  );
  if (!isKnown && value !== undefined) changed.push([name, value]);
  return pretty(`{${changed.map(([known, json]) => `${JSON.stringify(known)}:${json}`).join(',')}}`);
}

/** The list with this item set to a JSON text, or without it. Anything but a list counts as an empty one. */
export function setItem(text: string, index: number, value: string | undefined): string {
  const { node } = parse(text);
  const items = node?.kind === 'array' ? node.items.map((item) => source(text, item)) : [];
  if (value === undefined) items.splice(index, 1);
  else {
    while (items.length < index) items.push('null');
    items[index] = value;
  }
  return pretty(`[${items.join(',')}]`);
}
