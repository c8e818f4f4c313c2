/**
 * JSON as a tree that knows the position of each value and keeps numbers as they were written.
 *
 * `JSON.parse` would turn 12345678901234567890 into another number; here nothing is lost, so what you type is what is
 * sent, and what a server sends is what is shown.
 */

/** One value, with its place in the text it was read from. */
export type Node = Scalar | List | Obj;

interface Place {
  readonly from: number;
  readonly to: number;
}

export interface Scalar extends Place {
  readonly kind: 'null' | 'boolean' | 'number' | 'string';
  /** A string without its quotes and escapes; anything else as it was written. */
  readonly value: string;
}

export interface List extends Place {
  readonly kind: 'array';
  readonly items: readonly Node[];
}

export interface Obj extends Place {
  readonly kind: 'object';
  readonly members: readonly Member[];
}

export interface Member {
  readonly name: string;
  /** Where the name stands, with its quotes. */
  readonly at: Place;
  readonly value: Node;
}

/** Why a text is not JSON, and where that shows. */
export interface Fault {
  readonly message: string;
  readonly at: number;
}

export type Parsed = { readonly node: Node; readonly fault?: undefined } | { readonly fault: Fault; readonly node?: undefined };

/** The member of an object with this name. */
export function member(node: Node | undefined, name: string): Node | undefined {
  return node?.kind === 'object' ? node.members.find((member) => member.name === name)?.value : undefined;
}

/** The text of a node. */
export function source(text: string, node: Place): string {
  return text.slice(node.from, node.to);
}

/** The node that these names and indices lead to; where one leads nowhere, the last on the way. */
export function nodeAt(node: Node | undefined, path: readonly (string | number)[]): Node | undefined {
  let at = node;
  for (const step of path) {
    const next = at?.kind === 'array' ? at.items[Number(step)] : member(at, String(step));
    if (!next) break;
    at = next;
  }
  return at;
}
