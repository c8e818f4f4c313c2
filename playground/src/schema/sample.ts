/** A first value for a schema, to start from. */

import { type Keywords, type Root, type Schema, resolve, types, withoutNull } from './schema.js';

/** JSON text that fits the schema, or nearly. */
export function sample(given: Schema | undefined, root: Root, depth = 0): string {
  const schema = withoutNull(resolve(given, root), root);
  const known = [schema.default, schema.examples?.[0], schema.const, schema.enum?.[0]].find((value) => value !== undefined);
  if (known !== undefined) return JSON.stringify(known);
  if (depth > 4) return 'null';
  const choice = schema.oneOf?.[0] ?? schema.anyOf?.[0];
  if (choice !== undefined) return sample(choice, root, depth + 1);
  if (schema.allOf?.[0] !== undefined && types(schema).length === 0) return sample(schema.allOf[0], root, depth + 1);
  return ofType(types(schema)[0] ?? (schema.properties ? 'object' : 'any'), schema, root, depth);
}

function ofType(type: string, schema: Keywords, root: Root, depth: number): string {
  switch (type) {
    case 'integer':
    case 'number':
      return String(Math.min(Math.max(schema.minimum ?? 1, 1), schema.maximum ?? Infinity));
    case 'string':
      return '""';
    case 'boolean':
      return 'false';
    case 'array':
      return (schema.minItems ?? 0) > 0 && !Array.isArray(schema.items)
        ? `[${sample(schema.items as Schema | undefined, root, depth + 1)}]`
        : '[]';
    case 'object': {
      const properties = schema.properties ?? {};
      const wanted = (schema.required ?? []).filter((name) => Object.hasOwn(properties, name));
      const members = wanted.map((name) => `${JSON.stringify(name)}: ${sample(properties[name], root, depth + 1)}`);
      return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
    }
    case 'null':
      return 'null';
    default:
      return '"hello"';
  }
}
