/** The lists of the server. */

import { computed, signal } from '@preact/signals';
import { CallFailed } from './link.js';
import { type Item, type Kind, matches, readItems } from './items.js';
import { call, connection, has } from './session.js';

export type List =
  | { readonly state: 'none' }
  | { readonly state: 'loading'; readonly items: readonly Item[] }
  | { readonly state: 'known'; readonly items: readonly Item[] }
  | { readonly state: 'failed'; readonly items: readonly Item[]; readonly why: string };

export const KINDS: readonly Kind[] = ['tools', 'resources', 'templates', 'prompts'];

export const lists: Readonly<Record<Kind, ReturnType<typeof signal<List>>>> = {
  tools: signal<List>({ state: 'none' }),
  resources: signal<List>({ state: 'none' }),
  templates: signal<List>({ state: 'none' }),
  prompts: signal<List>({ state: 'none' }),
};

export const search = signal('');

export function itemsOf(kind: Kind): readonly Item[] {
  const list = lists[kind].value!;
  return list.state === 'none' ? [] : list.items;
}

/** The entries that the search finds. */
export const found = computed(() => {
  const words = search.value.trim();
  const among = (kind: Kind) => itemsOf(kind).filter((item) => words === '' || matches(item, words));
  const all: Readonly<Record<Kind, readonly Item[]>> = {
    tools: among('tools'),
    resources: among('resources'),
    templates: among('templates'),
    prompts: among('prompts'),
  };
  return all;
});

export function find(kind: Kind, id: string): Item | undefined {
  return itemsOf(kind).find((item) => item.id === id);
}

export function forgetLists(): void {
  for (const kind of KINDS) lists[kind].value = { state: 'none' };
}

/** Loads what the server has. */
export function loadAll(): void {
  for (const kind of KINDS) if (has(kind === 'templates' ? 'resources' : kind)) void load(kind);
}

/** Loads what has changed. */
export function loadChanged(kind: string): void {
  if (kind === 'all') loadAll();
  if (kind === 'tools' || kind === 'prompts') void load(kind);
  if (kind === 'resources') for (const each of ['resources', 'templates'] as const) void load(each);
}

async function load(kind: Kind): Promise<void> {
  const list = lists[kind];
  const items = itemsOf(kind);
  const begun = connection.value;
  list.value = { state: 'loading', items };
  const told = await call('inspect/list', { kind })
    .then((text): List => ({ state: 'known', items: readItems(kind, text) }))
    .catch((error: unknown): List => ({ state: 'failed', items, why: error instanceof CallFailed ? error.message : String(error) }));
  // The list of another server is of no use.
  if (begun === connection.value) list.value = told;
}
