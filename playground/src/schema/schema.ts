/** JSON Schema, as far as the playground reads it, and references inside a document. */

/** A schema; other keywords may stand in it and are not read. */
export interface Keywords {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: Schema | readonly Schema[];
  readonly additionalItems?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
}

export type Schema = boolean | Keywords;

/** The whole document, in which references are looked up. */
export type Root = unknown;

/** Follows references, up to some length; what leads nowhere allows anything. */
export function resolve(schema: Schema | undefined, root: Root): Keywords {
  let current: Schema | undefined = schema;
  for (let step = 0; step < 20; step += 1) {
    if (current === undefined || current === true) return {};
    if (current === false) return { not: {} };
    if (typeof current !== 'object' || current === null) return {};
    if (typeof current.$ref !== 'string') return current;
    current = pointed(root, current.$ref);
  }
  return {};
}

/** What `#/a/b` points at. Nothing outside of the document is looked up. */
function pointed(root: Root, reference: string): Schema | undefined {
  if (!reference.startsWith('#')) return undefined;
  let place: unknown = root;
  for (const part of reference.slice(1).split('/').slice(1)) {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, name)) return undefined;
    place = (place as Record<string, unknown>)[name];
  }
  return place as Schema;
}

/** The types that a schema names; none means any. */
export function types(schema: Keywords): readonly string[] {
  if (typeof schema.type === 'string') return [schema.type];
  return Array.isArray(schema.type) ? schema.type : [];
}

/** The one schema beside `null`, if that is all that several stand for: how an optional value is described. */
export function withoutNull(schema: Keywords, root: Root): Keywords {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices?.length === 2) {
    const rest = choices.map((choice) => resolve(choice, root)).filter((choice) => choice.type !== 'null');
    if (rest.length === 1 && rest[0]) return { ...rest[0], description: schema.description ?? rest[0].description ?? '' };
  }
  const named = types(schema);
  if (named.length > 1 && named.includes('null')) {
    const rest = named.filter((name) => name !== 'null');
    return { ...schema, type: rest.length === 1 ? rest[0]! : rest };
  }
  return schema;
}

/** One of the values that a schema lists. */
export interface Choice {
  /** Compact JSON text. */
  readonly json: string;
  readonly description: string;
}

/** The values of a schema that lists all of them: as `enum`, as `const`, or as alternatives that are nothing else. */
export function choicesOf(schema: Keywords, root: Root, depth = 0): readonly Choice[] | undefined {
  const description = schema.description ?? schema.title ?? '';
  if (schema.enum)
    return schema.enum.map((value) => ({ json: JSON.stringify(value), description: schema.enum!.length === 1 ? description : '' }));
  if ('const' in schema) return [{ json: JSON.stringify(schema.const), description }];
  if (schema.type === 'null') return [{ json: 'null', description }];
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (!alternatives || depth > 4) return undefined;
  const all = alternatives.map((alternative) => choicesOf(resolve(alternative, root), root, depth + 1));
  return all.every((choices) => choices !== undefined) ? all.flat() : undefined;
}
