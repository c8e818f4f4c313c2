/**
 * Checks a value against a schema of draft 07.
 *
 * Read are: `type enum const properties required additionalProperties minProperties maxProperties items additionalItems
 * minItems maxItems uniqueItems minLength maxLength pattern minimum maximum exclusiveMinimum exclusiveMaximum multipleOf
 * allOf anyOf oneOf not $ref`, the last within the document. Other keywords, `format` among them, allow everything: the
 * server has the last word anyway.
 */

import type { Node } from '../json/node.js';
import { compact } from '../json/print.js';
import { type Keywords, type Root, type Schema, choicesOf, resolve, types } from './schema.js';
import { typeName } from './words.js';

/** What is wrong, and where in the text. */
export interface Problem {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  /** The names and indices that lead to the value it is about; none is the whole. */
  readonly path: Path;
}

export type Path = readonly (string | number)[];

/** No more problems than this are looked for. */
const MOST = 20;
/** Schemas that refer to themselves end here. */
const DEPTH = 40;

/** Everything in the value that the schema does not allow. */
export function check(text: string, node: Node, schema: Schema | undefined, root: Root): Problem[] {
  const checker = new Checker(text, root);
  checker.visit(node, schema ?? true, []);
  return checker.problems;
}

class Checker {
  readonly problems: Problem[] = [];

  constructor(
    private readonly text: string,
    private readonly root: Root,
  ) {}

  visit(node: Node, given: Schema, path: Path, depth = 0): void {
    if (depth > DEPTH || this.problems.length >= MOST) return;
    if (given === false) return this.add(node, path, 'no value is allowed here');
    const schema = resolve(given, this.root);
    if (!this.kind(node, path, schema)) return;
    this.choices(node, path, schema);
    if (node.kind === 'number') this.number(node, path, node.value, schema);
    if (node.kind === 'string') this.string(node, path, node.value, schema);
    if (node.kind === 'array') this.array(node, path, schema, depth);
    if (node.kind === 'object') this.object(node, path, schema, depth);
    this.combined(node, path, schema, depth);
  }

  private kind(node: Node, path: Path, schema: Keywords): boolean {
    const wanted = types(schema);
    if (wanted.length === 0 || wanted.some((type) => isType(node, type))) return true;
    this.add(node, path, `must be ${wanted.map(typeName).join(' or ')}`);
    return false;
  }

  private choices(node: Node, path: Path, schema: Keywords): void {
    const value = compact(this.text.slice(node.from, node.to));
    if (schema.enum && !schema.enum.some((choice) => same(choice, value))) {
      this.add(node, path, `must be one of ${schema.enum.map((choice) => JSON.stringify(choice)).join(', ')}`);
    }
    if ('const' in schema && !same(schema.const, value)) this.add(node, path, `must be ${JSON.stringify(schema.const)}`);
  }

  private number(node: Node, path: Path, written: string, schema: Keywords): void {
    const value = Number(written);
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
    if (minimum !== undefined && value < minimum) this.add(node, path, `must be at least ${minimum}`);
    if (maximum !== undefined && value > maximum) this.add(node, path, `must be at most ${maximum}`);
    if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) this.add(node, path, `must be more than ${exclusiveMinimum}`);
    if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) this.add(node, path, `must be less than ${exclusiveMaximum}`);
    if (multipleOf !== undefined && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9) {
      this.add(node, path, `must be a multiple of ${multipleOf}`);
    }
  }

  private string(node: Node, path: Path, value: string, schema: Keywords): void {
    const length = [...value].length;
    if (length < (schema.minLength ?? 0)) this.add(node, path, `must have at least ${count(schema.minLength!, 'character')}`);
    if (length > (schema.maxLength ?? Infinity)) this.add(node, path, `must have at most ${count(schema.maxLength!, 'character')}`);
    if (schema.pattern !== undefined && !matches(schema.pattern, value)) this.add(node, path, `must match ${schema.pattern}`);
  }

  private array(node: Node & { kind: 'array' }, path: Path, schema: Keywords, depth: number): void {
    const { items } = node;
    if (items.length < (schema.minItems ?? 0)) this.add(node, path, `must have at least ${count(schema.minItems!, 'item')}`);
    if (items.length > (schema.maxItems ?? Infinity)) this.add(node, path, `must have at most ${count(schema.maxItems!, 'item')}`);
    const texts = items.map((item) => compact(this.text.slice(item.from, item.to)));
    const twice = schema.uniqueItems ? texts.findIndex((text, at) => texts.indexOf(text) < at) : -1;
    if (items[twice]) this.add(items[twice], [...path, twice], 'appears twice');
    items.forEach((item, at) => {
      const each = Array.isArray(schema.items)
        ? ((schema.items as readonly Schema[])[at] ?? schema.additionalItems)
        : (schema.items as Schema | undefined);
      if (each !== undefined) this.visit(item, each, [...path, at], depth + 1);
    });
  }

  private object(node: Node & { kind: 'object' }, path: Path, schema: Keywords, depth: number): void {
    const names = new Set(node.members.map((member) => member.name));
    for (const name of schema.required ?? []) {
      if (!names.has(name)) this.add(node, [...path, name], `${JSON.stringify(name)} is missing`);
    }
    if (names.size < (schema.minProperties ?? 0)) this.add(node, path, `must have at least ${count(schema.minProperties!, 'member')}`);
    if (names.size > (schema.maxProperties ?? Infinity))
      this.add(node, path, `must have at most ${count(schema.maxProperties!, 'member')}`);
    const seen = new Set<string>();
    for (const { name, at, value } of node.members) {
      if (seen.has(name)) this.add(at, [...path, name], `${JSON.stringify(name)} appears twice`);
      seen.add(name);
      const known = schema.properties && Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined;
      if (known !== undefined) this.visit(value, known, [...path, name], depth + 1);
      else if (schema.additionalProperties === false) this.add(at, [...path, name], `${JSON.stringify(name)} is unknown`);
      else if (schema.additionalProperties !== undefined) this.visit(value, schema.additionalProperties, [...path, name], depth + 1);
    }
  }

  private combined(node: Node, path: Path, schema: Keywords, depth: number): void {
    for (const part of schema.allOf ?? []) this.visit(node, part, path, depth + 1);
    const fits = (choice: Schema) => this.attempt(node, path, choice, depth).length === 0;
    if (schema.anyOf && !schema.anyOf.some(fits)) this.unfit(node, path, schema.anyOf, depth);
    if (schema.oneOf) {
      const fitting = schema.oneOf.filter(fits).length;
      if (fitting === 0) this.unfit(node, path, schema.oneOf, depth);
      if (fitting > 1) this.add(node, path, `matches ${fitting} of the choices; it must match exactly one`);
    }
    if (schema.not !== undefined && fits(schema.not)) this.add(node, path, 'is not allowed here');
  }

  /** What is wrong with the choice that is nearest, if there is one. */
  private unfit(node: Node, path: Path, choices: readonly Schema[], depth: number): void {
    const known = choicesOf({ oneOf: choices }, this.root);
    if (known) return this.add(node, path, `must be one of ${known.map((choice) => choice.json).join(', ')}`);
    const tried = choices.map((choice) => this.attempt(node, path, choice, depth));
    const deep = tried.filter((problems) => problems.every((problem) => problem.from !== node.from || problem.to !== node.to));
    const nearest = deep[0];
    if (deep.length === 1 && nearest) this.problems.push(...nearest);
    else this.add(node, path, [...new Set(tried.map((problems) => problems[0]?.message))].join(', or '));
  }

  private attempt(node: Node, path: Path, schema: Schema, depth: number): Problem[] {
    const checker = new Checker(this.text, this.root);
    checker.visit(node, schema, path, depth + 1);
    return checker.problems;
  }

  private add(place: { from: number; to: number }, path: Path, message: string): void {
    if (this.problems.length < MOST) this.problems.push({ from: place.from, to: place.to, message, path });
  }
}

function isType(node: Node, type: string): boolean {
  if (type === 'integer') return node.kind === 'number' && Number.isInteger(Number(node.value));
  return node.kind === type;
}

function same(choice: unknown, compactText: string): boolean {
  return JSON.stringify(choice) === compactText;
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
