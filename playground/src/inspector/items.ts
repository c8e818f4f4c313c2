/** What a server offers, read from its lists as far as the page shows it. */

import { source } from '../json/node.js';
import { parse } from '../json/parse.js';
import type { Param } from '../rpc/document.js';
import type { Keywords, Schema } from '../schema/schema.js';
import { variables } from './template.js';

export type Kind = 'tools' | 'resources' | 'templates' | 'prompts';

export interface Item {
  readonly kind: Kind;
  /** The name of a tool or prompt, or the URI of a resource. */
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly badges: readonly string[];
  /** What it takes: the arguments of a tool or prompt, or the variables of a template. */
  readonly params: readonly Param[];
  /** The schema of the arguments, in which references are looked up. */
  readonly schema: Schema;
  readonly output: Schema | undefined;
  readonly mimeType: string;
  /** The view of a tool, and who may call the tool: models, and views. */
  readonly view: string | undefined;
  readonly visibility: readonly string[];
  /** All of it, as JSON text. */
  readonly raw: string;
}

type Members = Readonly<Record<string, unknown>>;

/** The entries of a list, as JSON text. Anything but an object is left out. */
export function readItems(kind: Kind, text: string): readonly Item[] {
  const { node } = parse(text);
  if (node?.kind !== 'array') return [];
  return node.items.flatMap((entry) => {
    const raw = source(text, entry);
    return entry.kind === 'object' ? [readItem(kind, JSON.parse(raw) as Members, raw)] : [];
  });
}

function readItem(kind: Kind, entry: Members, raw: string): Item {
  const text = (name: string) => (typeof entry[name] === 'string' ? (entry[name] as string) : '');
  const annotations = members(entry['annotations']);
  const id = kind === 'resources' ? text('uri') : kind === 'templates' ? text('uriTemplate') : text('name');
  const schema = kind === 'tools' ? (members(entry['inputSchema']) as Keywords) : {};
  return {
    kind,
    id,
    name: text('name') || id,
    title: text('title') || (typeof annotations['title'] === 'string' ? annotations['title'] : ''),
    description: text('description'),
    badges: kind === 'tools' ? [...badgesOf(annotations), ...(viewOf(members(entry['_meta'])).view ? ['view'] : [])] : [],
    params: kind === 'tools' ? propertiesOf(schema) : kind === 'prompts' ? argumentsOf(entry) : variables(id).map((name) => textParam(name, '', false)),
    schema,
    output: entry['outputSchema'] === undefined ? undefined : (members(entry['outputSchema']) as Keywords),
    mimeType: text('mimeType'),
    ...viewOf(members(entry['_meta'])),
    raw,
  };
}

/** The view of a tool (MCP-UI-02), also where it stood before. */
function viewOf(meta: Members): Pick<Item, 'view' | 'visibility'> {
  const ui = members(meta['ui']);
  const uri = ui['resourceUri'] ?? meta['ui/resourceUri'];
  const visibility = Array.isArray(ui['visibility']) ? ui['visibility'].map(String) : ['model', 'app'];
  return { view: typeof uri === 'string' && uri.startsWith('ui://') ? uri : undefined, visibility };
}

/** What a tool says about itself. It may be wrong. */
function badgesOf(annotations: Members): string[] {
  const words = { readOnlyHint: 'read-only', destructiveHint: 'destructive', idempotentHint: 'idempotent', openWorldHint: 'open world' };
  return Object.entries(words).flatMap(([name, word]) => (annotations[name] === true ? [word] : []));
}

/** The properties of an object as the fields of a form. */
export function propertiesOf(schema: Keywords): readonly Param[] {
  return Object.entries(schema.properties ?? {}).map(([name, schema_]) => ({
    name,
    description: typeof schema_ === 'object' ? (schema_.description ?? '') : '',
    required: schema.required?.includes(name) === true,
    schema: schema_,
    rest: false,
  }));
}

function argumentsOf(entry: Members): readonly Param[] {
  const all = Array.isArray(entry['arguments']) ? entry['arguments'].map(members) : [];
  return all.map((argument) => textParam(String(argument['name'] ?? ''), String(argument['description'] ?? ''), argument['required'] === true));
}

function textParam(name: string, description: string, required: boolean): Param {
  return { name, description, required, schema: { type: 'string' }, rest: false };
}

function members(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {};
}

/** Whether an item has all words of a search. */
export function matches({ name, title, description, id }: Item, search: string): boolean {
  const text = `${name} ${title} ${description} ${id}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
