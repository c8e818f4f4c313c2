import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ID_COLOURS, idColour, idMarks } from '../../src/rpc/ids.js';
import { remarks } from '../../src/rpc/remarks.js';
import { awaited, readTyped } from '../../src/rpc/typed.js';

/** The first remark begins like this, and stands at this part of the text. */
function remarked(text: string, start: string, part: string, isBreach = true): void {
  const [first] = remarks(text);
  assert.ok(first, text);
  assert.ok(first.message.startsWith(start), `${text}: ${first.message}`);
  assert.equal(text.slice(first.from, first.to), part, text);
  assert.equal(first.isBreach, isBreach, text);
}

test('a message that keeps to the rules gets no remark', () => {
  for (const text of [
    '{"jsonrpc":"2.0","method":"a","params":[1],"id":1}',
    '{"jsonrpc":"2.0","method":"a","params":{"b":1},"id":"x","stream":true,"timeoutMs":5}',
    '{"jsonrpc":"2.0","method":"a"}',
    '{"method":"a","params":[],"id":null}',
    '[{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"a"}]',
  ])
    assert.deepEqual(remarks(text), [], text);
});

test('each broken rule is named where it is broken', () => {
  remarked('', 'The message is empty', '');
  remarked('{"jsonrpc":"2.0","method":"a",}', 'Not valid JSON', '}');
  remarked('5', 'A message is an object', '5');
  remarked('[]', 'A batch needs', '[]');
  remarked('[1]', 'Every entry', '1');
  remarked('{"method":"a"}', '"jsonrpc" is missing', '{');
  remarked('{"jsonrpc":2.0,"method":"a"}', '"jsonrpc" must be', '2.0');
  remarked('{"jsonrpc":"2.0","id":1}', '"method" is missing', '{');
  remarked('{"jsonrpc":"2.0","method":7}', '"method" must be', '7');
  remarked('{"jsonrpc":"2.0","method":"a","params":"b"}', '"params" must be', '"b"');
  remarked('{"jsonrpc":"2.0","method":"a","id":true}', '"id" must be', 'true');
  remarked('{"jsonrpc":"2.0","method":"a","method":"b"}', '"method" appears twice', '"method"');
});

test('what is legal and unwise is advice', () => {
  remarked('{"jsonrpc":"2.0","method":"a","id":null}', 'With "id": null', 'null', false);
  remarked('{"jsonrpc":"2.0","method":"a","id":1.5}', '"id" should be', '1.5', false);
  remarked('{"jsonrpc":"2.0","method":"a","id":1,"x":1}', '"x" is not part', '"x"', false);
  const twice = '[{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"b","id":1}]';
  remarked(twice, 'The id 1 appears twice', '1', false);
});

test('a typed message is read back without losing a digit', () => {
  const read = readTyped('{"jsonrpc":"2.0","method":"a","params":[12345678901234567890],"id":"x"}');
  assert.deepEqual(read, {
    version: '2.0',
    method: 'a',
    params: '[12345678901234567890]',
    isNotification: false,
    wantsStream: false,
    id: '"x"',
  });
  const old = readTyped('{"method":"a","params":[],"id":null}');
  assert.ok(old && 'method' in old && old.version === '1.0' && old.isNotification);
  assert.equal((readTyped('[{"jsonrpc":"2.0","method":"a"}]') as readonly unknown[]).length, 1);
  const unreadable = ['', '{', '[]', '[1]', '{"method":1}', '{"method":"a","params":1}', '{"result":1,"id":1}'];
  for (const text of unreadable) assert.equal(readTyped(text), undefined, text);
});

test('the ids that are waited for are those of calls; after a broken rule anything may come', () => {
  assert.deepEqual(awaited('{"jsonrpc":"2.0","method":"a","id":"1"}'), ['"1"']);
  assert.deepEqual(awaited('{"jsonrpc":"2.0","method":"a"}'), []);
  assert.deepEqual(awaited('[{"jsonrpc":"2.0","method":"a","id":1},{"jsonrpc":"2.0","method":"b"}]'), ['1']);
  assert.deepEqual(awaited('{"jsonrpc":"2.0","method":"a","id":1.5}'), ['1.5']);
  assert.equal(awaited('{"jsonrpc":"2.0","method":"a","params":1,"id":1}'), undefined);
  assert.equal(awaited('{'), undefined);
});

test('ids are found in messages, batches and event streams, and nowhere else', () => {
  const found = (text: string) => idMarks(text).map(({ from, to, id }) => [text.slice(from, to), id]);
  assert.deepEqual(found('{"id": 1, "params": {"id": 2}}'), [['1', '1']]);
  assert.deepEqual(found('[{"id":"a"},{"method":"x"},{"id":null}]'), [
    ['"a"', '"a"'],
    ['null', 'null'],
  ]);
  assert.deepEqual(found('{"method":"rpc.cancel","params":{"id":7}}'), [['7', '7']]);
  assert.deepEqual(found('data: {"result":1,"id":3}\n\ndata: [DONE]\n\n'), [['3', '3']]);
  assert.deepEqual(found('not JSON "id": 1'), []);
});

test('the same id has the same colour, and ids in a row have different ones', () => {
  const row = Array.from({ length: ID_COLOURS }, (_, at) => idColour(String(at + 1)));
  assert.equal(new Set(row).size, ID_COLOURS);
  assert.equal(idColour('"a"'), idColour('"a"'));
  for (const id of ['"a"', 'null', '-1', '1.5', '99999999999999999999']) assert.ok(idColour(id) >= 0 && idColour(id) < ID_COLOURS, id);
});
