/** What is chosen, and the arguments for it. */

import { computed, signal } from '@preact/signals';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { pretty } from '../json/print.js';
import { type Problem, check } from '../schema/check.js';
import { sample } from '../schema/sample.js';
import { find } from './catalog.js';
import type { Item, Kind } from './items.js';
import { expand } from './template.js';

/** Nothing chosen shows the server itself. */
export const chosen = signal<{ readonly kind: Kind; readonly id: string } | undefined>(undefined);
export const item = computed(() => (chosen.value ? find(chosen.value.kind, chosen.value.id) : undefined));

/** Arguments as JSON text, by what they are for. */
const drafts = signal<Readonly<Record<string, string>>>({});

function keyOf({ kind, id }: { kind: Kind; id: string }): string {
  return `${kind} ${id}`;
}

export const args = computed(() => (item.value ? (drafts.value[keyOf(item.value)] ?? first(item.value)) : ''));

export function setArgs(text: string): void {
  if (item.value) drafts.value = { ...drafts.value, [keyOf(item.value)]: text };
}

/** Chooses an item, with these arguments if there are any. */
export function choose(kind: Kind, id: string, text?: string): void {
  chosen.value = { kind, id };
  if (text !== undefined) drafts.value = { ...drafts.value, [keyOf({ kind, id })]: text };
}

/** What to begin with: the required values, as their schemas say. */
function first({ kind, params, schema }: Item): string {
  if (kind !== 'tools') return '{}';
  const wanted = params.filter(({ required }) => required);
  return pretty(`{${wanted.map((param) => `${JSON.stringify(param.name)}:${sample(param.schema, schema)}`).join(',')}}`);
}

/** What is wrong with the arguments, as far as the page can know. */
export const problems = computed((): readonly Problem[] => {
  const known = item.value;
  return known ? problemsOf(args.value, known) : [];
});

export function problemsOf(text: string, { kind, params, schema }: Pick<Item, 'kind' | 'params' | 'schema'>): readonly Problem[] {
  const { node, fault } = parse(text);
  if (fault) return [{ from: fault.at, to: fault.at + 1, message: fault.message, path: [] }];
  if (node?.kind !== 'object') return [{ from: 0, to: text.length, message: 'the arguments must be an object', path: [] }];
  if (kind === 'tools') return check(text, node, schema, schema);
  const missing = params.filter(({ name, required }) => required && !member(node, name));
  return missing.map(({ name }) => ({ from: 0, to: 0, message: `"${name}" is missing`, path: [name] }));
}

/** A problem with the name of what it is about. */
export function withPlace({ path, message }: Problem): string {
  return path.length === 0 || message.startsWith('"') ? message : `${path.join('.')}: ${message}`;
}

/** The values of a form of texts. */
export function textsOf(text: string): Readonly<Record<string, string>> {
  const { node } = parse(text);
  const members = node?.kind === 'object' ? node.members : [];
  return Object.fromEntries(members.map((m) => [m.name, m.value.kind === 'string' ? m.value.value : source(text, m.value)]));
}

/** The request of MCP for an item with these arguments: its method and its params, as JSON text. */
export function requestFor({ kind, id }: Pick<Item, 'kind' | 'id'>, text: string): { readonly method: string; readonly params: string } {
  switch (kind) {
    case 'tools':
      return { method: 'tools/call', params: `{"name":${JSON.stringify(id)},"arguments":${text}}` };
    case 'prompts':
      return { method: 'prompts/get', params: `{"name":${JSON.stringify(id)},"arguments":${text}}` };
    case 'resources':
      return { method: 'resources/read', params: JSON.stringify({ uri: id }) };
    case 'templates':
      return { method: 'resources/read', params: JSON.stringify({ uri: expand(id, textsOf(text)) }) };
  }
}
