import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setItem, setMember } from '../../src/json/edit.js';
import { parse } from '../../src/json/parse.js';
import { compact, pretty } from '../../src/json/print.js';

test('what JSON.parse takes is taken, and nothing else', () => {
  const texts = [
    '',
    ' ',
    '0',
    '-0',
    '01',
    '1.',
    '.5',
    '1e5',
    '1E+5',
    '1e',
    '+1',
    'NaN',
    'true',
    'tru',
    'null',
    '"a"',
    '"a',
    '"\\u00e9"',
    '"\\u00e"',
    '"\\x"',
    '"\n"',
    '[]',
    '[1]',
    '[1,]',
    '[,1]',
    '[1 2]',
    '{}',
    '{"a":1}',
    '{"a":1,}',
    '{a:1}',
    '{"a" 1}',
    '{"a":}',
    '[1]x',
    '{"a":[{}]}',
    '\u00a01',
    '\ufeff1',
  ];
  for (const text of texts) {
    let expected = true;
    try {
      JSON.parse(text);
    } catch {
      expected = false;
    }
    assert.equal(parse(text).node !== undefined, expected, JSON.stringify(text));
  }
});

test('strings are read without their escapes', () => {
  const text = '"a\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00"';
  const { node } = parse(text);
  assert.equal(node?.kind === 'string' && node.value, JSON.parse(text));
});

test('a text nested too deep is refused instead of exhausting the stack', () => {
  assert.equal(parse('['.repeat(100_000)).fault?.message, 'nested deeper than 200 levels');
});

test('printing keeps every digit', () => {
  const text = '{"a":[12345678901234567890,1.50,1e400],"b":"é\\u00e9"}';
  assert.equal(compact(pretty(text)), text);
  assert.equal(pretty('[ 1,2 ]'), '[1, 2]');
  assert.equal(pretty('{"a":{"b":"' + 'x'.repeat(60) + '"}}').split('\n').length, 5);
  assert.equal(pretty('{'), '{');
});

test('one member or item is changed and the others are left as they are', () => {
  assert.equal(setMember('{"a": 1.50, "b": 2}', 'b', '3'), '{ "a": 1.50, "b": 3 }');
  assert.equal(setMember('{"a": 1.50}', 'b', '"x"'), '{ "a": 1.50, "b": "x" }');
  assert.equal(setMember('{"a": 1, "b": 2}', 'a', undefined), '{ "b": 2 }');
  assert.equal(setMember('nonsense', 'a', '1'), '{ "a": 1 }');
  assert.equal(setItem('[1]', 2, '3'), '[1, null, 3]');
  assert.equal(setItem('[1,2]', 0, undefined), '[2]');
});
