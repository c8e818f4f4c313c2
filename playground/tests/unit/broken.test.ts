import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CASES } from '../../src/broken/cases.js';
import { judge } from '../../src/broken/expectation.js';

test('each message has a name and names its rules', () => {
  assert.ok(CASES.length >= 20);
  assert.equal(new Set(CASES.map(({ key }) => key)).size, CASES.length);
  for (const { key, rules, why } of CASES) {
    assert.ok(
      rules.every((rule) => /^J[12]-\d\d$/.test(rule)),
      key,
    );
    assert.ok(why.length > 30, key);
  }
});

test('an answer is right or wrong by its code, its identifier and its shape', () => {
  const error = (code: number, id: string) => `{"jsonrpc":"2.0","error":{"code":${code},"message":"m"},"id":${id}}`;
  const check = (isRight: boolean, expected: Parameters<typeof judge>[0], text: string) =>
    assert.equal(judge(expected, text).isRight, isRight, text);
  const invalid = { kind: 'error' as const, codes: [-32600], ids: ['null'] };
  check(true, invalid, error(-32600, 'null'));
  check(false, invalid, error(-32600, '1'));
  check(false, invalid, error(-32700, 'null'));
  check(false, invalid, `[${error(-32600, 'null')}]`);
  check(false, invalid, '{"jsonrpc":"2.0","result":1,"id":null}');
  check(false, invalid, '');
  check(false, invalid, '<html>');
  const three = { kind: 'errors' as const, code: -32600, count: 2 };
  check(true, three, `[${error(-32600, 'null')},${error(-32600, 'null')}]`);
  check(false, three, `[${error(-32600, 'null')}]`);
  check(false, three, error(-32600, 'null'));
  check(true, { kind: 'nothing' }, '');
  check(false, { kind: 'nothing' }, '[]');
  check(true, { kind: 'answers', ids: ['1', 'null'] }, `[${error(1, 'null')},${error(1, '1')}]`);
  check(false, { kind: 'answers', ids: ['1'] }, `[${error(1, '1')},${error(1, '1')}]`);
  check(true, { kind: 'answer', id: '12345678901234567890' }, error(1, '12345678901234567890'));
  check(false, { kind: 'answer', id: '12345678901234567890' }, error(1, '12345678901234567000'));
});

/** Whether a message is what the specification of its version calls a request. */
function isRequest(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { jsonrpc, method, params, id } = value as Record<string, unknown>;
  const isOld = jsonrpc === undefined;
  const hasParams = params === undefined || (typeof params === 'object' && params !== null && (!isOld || Array.isArray(params)));
  return (isOld || jsonrpc === '2.0') && typeof method === 'string' && hasParams && typeof (id ?? 0) !== 'object';
}

test('messages that break no rule are called odd, and only those', () => {
  for (const { key, text, isLegal, level } of CASES) {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    const isValid = Array.isArray(value) ? value.length > 0 && value.every(isRequest) : isRequest(value);
    // Duplicate names and halves of characters are JSON by its grammar, and refused by agreement.
    const isRefusedByAgreement = level === 'good practice' && ['twice', 'lone-surrogate'].includes(key);
    assert.equal(isValid && !isRefusedByAgreement, isLegal === true, key);
  }
});
