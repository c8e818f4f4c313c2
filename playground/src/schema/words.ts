/** Schemas in a few words, for people. */

import { type Keywords, type Root, type Schema, resolve, types, withoutNull } from './schema.js';

const NAMES: Readonly<Record<string, string>> = {
  integer: 'a whole number',
  number: 'a number',
  string: 'a string',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  null: 'null',
};

/** A type as part of a sentence. */
export function typeName(type: string): string {
  return NAMES[type] ?? type;
}

/** A schema as a short name: `integer ≥ 0`, `array of string`, `"a" | "b"`. */
export function shortName(given: Schema | undefined, root: Root, depth = 0): string {
  const schema = resolve(given, root);
  const inner = withoutNull(schema, root);
  if (inner !== schema) return `${shortName(inner, root, depth)} or null`;
  if (schema.enum) return schema.enum.map((choice) => JSON.stringify(choice)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices) {
    if (depth > 2) return schema.title ?? 'one of several';
    return [...new Set(choices.map((choice) => shortName(choice, root, depth + 1)))].join(' | ');
  }
  const named = types(schema);
  if (named.length === 0) return schema.title ?? (schema.properties ? 'object' : 'any');
  return named.map((type) => withBounds(type, schema, root, depth)).join(' | ');
}

function withBounds(type: string, schema: Keywords, root: Root, depth: number): string {
  if (type === 'array' && depth < 3 && schema.items && !Array.isArray(schema.items)) {
    return `array of ${shortName(schema.items as Schema, root, depth + 1)}`;
  }
  if (type === 'array') return 'array';
  if (type === 'object') return schema.title ?? 'object';
  if (type !== 'integer' && type !== 'number') return type;
  const least = schema.minimum !== undefined ? ` ≥ ${schema.minimum}` : '';
  const most = schema.maximum !== undefined && schema.maximum < 2 ** 32 - 1 ? ` ≤ ${schema.maximum}` : '';
  return type + least + most;
}
