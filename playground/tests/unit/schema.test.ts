import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../../src/json/parse.js';
import { check } from '../../src/schema/check.js';
import { sample } from '../../src/schema/sample.js';
import { type Keywords, type Schema, choicesOf } from '../../src/schema/schema.js';
import { shortName } from '../../src/schema/words.js';

const root = {
  components: {
    schemas: {
      User: {
        type: 'object',
        title: 'User',
        required: ['name'],
        properties: { name: { type: 'string', minLength: 1 }, next: { $ref: '#/components/schemas/User' } },
      },
      Loop: { $ref: '#/components/schemas/Loop' },
    },
  },
};

function found(schema: Schema, text: string): string[] {
  const { node } = parse(text);
  assert.ok(node, text);
  return check(text, node, schema, root).map((problem) => `${text.slice(problem.from, problem.to)}: ${problem.message}`);
}

test('each keyword finds what it forbids and lets the rest pass', () => {
  const fails = (schema: Schema, text: string, expected: string) => assert.deepEqual(found(schema, text), [expected]);
  const passes = (schema: Schema, ...texts: string[]) => texts.forEach((text) => assert.deepEqual(found(schema, text), [], text));
  fails({ type: 'integer' }, '1.5', '1.5: must be a whole number');
  passes({ type: 'integer' }, '1', '1.0', '-7');
  fails({ type: ['string', 'null'] }, '1', '1: must be a string or null');
  fails({ enum: ['a', 1] }, '2', '2: must be one of "a", 1');
  passes({ enum: ['a', 1, { b: [1] }] }, '"a"', '1', '{ "b": [ 1 ] }');
  fails({ const: 5 }, '6', '6: must be 5');
  fails({ minimum: 0 }, '-1', '-1: must be at least 0');
  fails({ exclusiveMaximum: 10 }, '10', '10: must be less than 10');
  fails({ multipleOf: 0.1 }, '0.25', '0.25: must be a multiple of 0.1');
  passes({ multipleOf: 0.1 }, '0.3');
  fails({ minLength: 2 }, '"😀"', '"😀": must have at least 2 characters');
  fails({ pattern: '^a' }, '"b"', '"b": must match ^a');
  passes({ pattern: '(' }, '"b"');
  fails({ items: { type: 'number' } }, '[1, "x"]', '"x": must be a number');
  fails({ items: [{ type: 'number' }], additionalItems: false }, '[1, 2]', '2: no value is allowed here');
  fails({ minItems: 1 }, '[]', '[]: must have at least 1 item');
  fails({ uniqueItems: true }, '[1, 2, 1]', '1: appears twice');
  fails({ required: ['a'] }, '{}', '{}: "a" is missing');
  fails({ properties: { a: { type: 'string' } }, additionalProperties: false }, '{"b": 1}', '"b": "b" is unknown');
  fails({ additionalProperties: { type: 'string' } }, '{"b": 1}', '1: must be a string');
  fails({}, '{"b": 1, "b": 2}', '"b": "b" appears twice');
  fails({ allOf: [{ minimum: 2 }, { maximum: 5 }] }, '7', '7: must be at most 5');
  fails({ anyOf: [{ type: 'string' }, { type: 'null' }] }, '7', '7: must be a string, or must be null');
  fails({ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, '7', '7: matches 2 of the choices; it must match exactly one');
  fails({ not: { type: 'null' } }, 'null', 'null: is not allowed here');
  fails(false, '1', '1: no value is allowed here');
  passes(true, '1');
});

test('references are followed inside of the document, and loops end', () => {
  const user = { $ref: '#/components/schemas/User' };
  assert.deepEqual(found(user, '{"name": "a", "next": {"name": ""}}'), ['"": must have at least 1 character']);
  assert.deepEqual(found({ $ref: '#/components/schemas/Loop' }, '1'), []);
  assert.deepEqual(found({ $ref: 'https://elsewhere.example/schema' }, '1'), []);
  assert.deepEqual(found({ $ref: '#/no/where' }, '1'), []);
});

test('the nearest choice says what is wrong with it', () => {
  const schema = { oneOf: [{ type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] }, { type: 'string' }] } as Schema;
  assert.deepEqual(found(schema, '{"kind": "b"}'), ['"b": must be "a"']);
});

test('a sample fits its schema', () => {
  const schemas: Schema[] = [
    { type: 'integer', minimum: 5 },
    { type: 'string' },
    { type: 'boolean' },
    { type: 'array', items: { type: 'number' }, minItems: 1 },
    { $ref: '#/components/schemas/User' },
    { enum: ['x'] },
    { anyOf: [{ type: 'null' }, { type: 'string' }] },
    true,
    { type: 'number', default: 1.5 },
  ];
  for (const schema of schemas) {
    const text = sample(schema, root);
    const wrong = found(schema, text).filter((problem) => !problem.includes('character'));
    assert.deepEqual(wrong, [], `${JSON.stringify(schema)} ${text}`);
  }
});

test('schemas have short names', () => {
  const named = (schema: Schema, expected: string) => assert.equal(shortName(schema, root), expected);
  named({ type: 'integer', minimum: 0, format: 'uint32', maximum: 4294967295 }, 'integer ≥ 0');
  named({ type: ['integer', 'null'] }, 'integer or null');
  named({ type: 'array', items: { $ref: '#/components/schemas/User' } }, 'array of User');
  named({ enum: ['a', 'b'] }, '"a" | "b"');
  named(true, 'any');
});

test('a schema that lists its values is a choice between them, however it is written', () => {
  const listed = (schema: Keywords) => choicesOf(schema, root)?.map(({ json, description }) => `${json} ${description}`.trim());
  assert.deepEqual(listed({ enum: ['a', 1] }), ['"a"', '1']);
  const oneOf: Schema[] = [{ const: 'a', description: 'first' }, { enum: ['b'], description: 'second' }, { type: 'null' }];
  assert.deepEqual(listed({ oneOf }), ['"a" first', '"b" second', 'null']);
  assert.deepEqual(listed({ anyOf: [{ oneOf }, { enum: ['c', 'd'], description: 'others' }] }), [
    '"a" first',
    '"b" second',
    'null',
    '"c"',
    '"d"',
  ]);
  assert.equal(listed({ oneOf: [...oneOf, { type: 'string' }] }), undefined);
  assert.equal(listed({ type: 'string' }), undefined);
  assert.deepEqual(found({ oneOf }, '7'), ['7: must be one of "a", "b", null']);
});

test('a problem knows the path to what it is about', () => {
  const paths = (schema: Schema, text: string) => check(text, parse(text).node!, schema, root).map(({ path }) => path.join('/'));
  const user = { $ref: '#/components/schemas/User' };
  assert.deepEqual(paths(user, '{"name": "a", "next": {"name": 1}}'), ['next/name']);
  assert.deepEqual(paths(user, '{"next": {}}'), ['name', 'next/name']);
  assert.deepEqual(paths({ items: { type: 'number' } }, '[1, "x"]'), ['1']);
  assert.deepEqual(paths({ properties: { a: { anyOf: [user, { type: 'null' }] } } }, '{"a": {"name": 1}}'), ['a/name']);
  assert.deepEqual(paths({ additionalProperties: false }, '{"b": 1}'), ['b']);
});
