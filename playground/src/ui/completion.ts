/** Completion of JSON text by its schema. */

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';
import type { EditorState } from '@codemirror/state';
import type { SyntaxNode } from '@lezer/common';
import { sample } from '../schema/sample.js';
import { type Keywords, type Root, type Schema, resolve, types, withoutNull } from '../schema/schema.js';
import { shortName } from '../schema/words.js';

/** The schema of the whole text. */
export interface Known {
  readonly schema: Schema;
  readonly root: Root;
}

/** Where the cursor is: in the name of a member, or where a value stands. */
interface Place {
  readonly path: readonly (string | number)[];
  readonly isName: boolean;
  readonly from: number;
  readonly to: number;
  /** The names that the object has already. */
  readonly taken: readonly string[];
}

/** What fits where the cursor is. */
export function complete(context: CompletionContext, known: Known | undefined): CompletionResult | null {
  if (!known) return null;
  const typed = context.matchBefore(/"?[\w/.-]*/);
  if (!context.explicit && (!typed || typed.from === typed.to)) return null;
  const place = placeAt(context.state, context.pos, typed?.from ?? context.pos);
  if (!place) return null;
  const schema = place.path.reduce<Keywords>((at, step) => into(at, step, known.root), flat(known.schema, known.root));
  const options = place.isName ? names(schema, place, known.root) : values(schema, known.root);
  return options.length > 0 ? { from: place.from, to: place.to, options, validFor: /^"?[\w/.-]*"?$/ } : null;
}

function names(schema: Keywords, { taken, to }: Place, root: Root): Completion[] {
  const open = Object.entries(schema.properties ?? {}).filter(([name]) => !taken.includes(name));
  return open.map(([name, inner]) => ({
    label: JSON.stringify(name),
    detail: shortName(inner, root),
    info: resolve(inner, root).description ?? '',
    apply: (view, _, from) => {
      const hasColon = /^\s*:/.test(view.state.sliceDoc(to, to + 20));
      const insert = JSON.stringify(name) + (hasColon ? '' : `: ${sample(inner, root)}`);
      view.dispatch({
        changes: { from, to: view.state.selection.main.head > to ? view.state.selection.main.head : to, insert },
        selection: { anchor: from + insert.length },
      });
    },
  }));
}

function values(schema: Keywords, root: Root): Completion[] {
  const plain = withoutNull(schema, root);
  const choices = [plain, ...[...(plain.anyOf ?? []), ...(plain.oneOf ?? [])].map((choice) => flat(choice, root))];
  const texts = new Map<string, string>();
  for (const choice of choices) {
    for (const value of choice.enum ?? []) texts.set(JSON.stringify(value), 'choice');
    if ('const' in choice) texts.set(JSON.stringify(choice.const), 'choice');
    if (choice.default !== undefined) texts.set(JSON.stringify(choice.default), 'default');
    for (const value of choice.examples ?? []) texts.set(JSON.stringify(value), 'example');
    if (types(choice).includes('boolean')) texts.set('true', 'boolean').set('false', 'boolean');
    if (types(choice).includes('object') || choice.properties) texts.set(sample(choice, root), 'object');
  }
  if (types(schema).includes('null') || plain !== schema) texts.set('null', 'nothing');
  return [...texts].map(([label, detail]) => ({ label, detail }));
}

/** The schema with what `allOf` adds to it. */
function flat(schema: Schema | undefined, root: Root): Keywords {
  const here = withoutNull(resolve(schema, root), root);
  return (here.allOf ?? []).reduce<Keywords>((all, part) => {
    const more = resolve(part, root);
    return { ...more, ...all, properties: { ...more.properties, ...all.properties } };
  }, here);
}

/** The schema one step further down. */
function into(schema: Keywords, step: string | number, root: Root): Keywords {
  if (typeof step === 'string') {
    const choices = [schema, ...[...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].map((choice) => flat(choice, root))];
    return flat(choices.find((choice) => choice.properties?.[step] !== undefined)?.properties?.[step] ?? schema.additionalProperties, root);
  }
  const { items } = schema;
  return flat(Array.isArray(items) ? ((items as readonly Schema[])[step] ?? schema.additionalItems) : (items as Schema | undefined), root);
}

function placeAt(state: EditorState, pos: number, typedFrom: number): Place | undefined {
  const inner = syntaxTree(state).resolveInner(pos, -1);
  const token = ['PropertyName', 'String', 'Number', 'True', 'False', 'Null'].includes(inner.name) ? inner : undefined;
  const [from, to] = token ? [token.from, token.to] : [typedFrom, pos];
  if (token?.name === 'PropertyName') {
    const object = token.parent?.parent;
    return object ? { path: pathTo(state, object), isName: true, from, to, taken: takenIn(state, object, token.parent) } : undefined;
  }
  let holder: SyntaxNode | null = token ? token.parent : inner;
  while (holder && !['Object', 'Array', 'Property', 'JsonText'].includes(holder.name)) holder = holder.parent;
  if (!holder) return undefined;
  if (holder.name === 'Object') {
    // After a colon that nothing follows yet, a value is expected.
    const before = state.sliceDoc(holder.from, typedFrom);
    const open = /"((?:[^"\\]|\\.)*)"\s*:\s*$/.exec(before);
    if (open?.[1] !== undefined) return { path: [...pathTo(state, holder), open[1]], isName: false, from, to, taken: [] };
    return { path: pathTo(state, holder), isName: true, from, to, taken: takenIn(state, holder, null) };
  }
  if (holder.name === 'Array') return { path: [...pathTo(state, holder), indexIn(holder, from)], isName: false, from, to, taken: [] };
  return { path: pathTo(state, holder), isName: false, from, to, taken: [] };
}

/** The names and indices that lead to a node. */
function pathTo(state: EditorState, node: SyntaxNode): (string | number)[] {
  const path: (string | number)[] = [];
  for (let at: SyntaxNode | null = node; at; at = at.parent) {
    if (at.name === 'Property') path.unshift(nameOf(state, at));
    else if (at.parent?.name === 'Array') path.unshift(indexIn(at.parent, at.from));
  }
  return path;
}

function nameOf(state: EditorState, property: SyntaxNode): string {
  const name = property.getChild('PropertyName');
  if (!name) return '';
  try {
    return String(JSON.parse(state.sliceDoc(name.from, name.to)));
  } catch {
    return '';
  }
}

function takenIn(state: EditorState, object: SyntaxNode, except: SyntaxNode | null): string[] {
  const others = object.getChildren('Property').filter((property) => property.from !== except?.from);
  return others.map((property) => nameOf(state, property));
}

function indexIn(array: SyntaxNode, pos: number): number {
  let index = 0;
  for (let child = array.firstChild; child && child.from < pos; child = child.nextSibling) {
    if (child.name !== '[' && child.to <= pos && child.name !== '⚠') index += 1;
  }
  return index;
}
