import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Arrow, arrowOf } from '../../src/diagram/arrow.js';
import { MOST, type Row, type Sending, conversation } from '../../src/diagram/conversation.js';
import { HEAD, layOut } from '../../src/diagram/layout.js';
import { readMessage } from '../../src/rpc/message.js';

/** A sending that began at a time, with frames that came so long after it. */
function sending(begun: number, text: string, frames: readonly (readonly [number, string])[], more: Partial<Sending> = {}): Sending {
  return {
    begun,
    sent: { text, transport: 'ws' },
    state: 'done',
    received: frames.length,
    frames: frames.map(([at, text]) => ({ at, text, message: readMessage(text) })),
    asides: [],
    ...more,
  };
}

/** A row in a line, as it would be read. */
function line(row: Row): string {
  if (row.kind !== 'arrow') return `${row.kind} ${row.text}`;
  const { isSent, word, detail, id } = row.arrow;
  return `${isSent ? '-->' : '<--'} ${word} ${detail} ${id ?? ''}`.replace(/\s+/g, ' ').trim();
}

function lines(...parameters: Parameters<typeof conversation>): string[] {
  return conversation(...parameters).map(line);
}

const call = (id: number) => `{"jsonrpc":"2.0","method":"add","params":[1,2],"id":${id}}`;
const result = (id: number) => `{"jsonrpc":"2.0","result":3,"id":${id}}`;
const item = (value: number) => `{"jsonrpc":"2.0","method":"rpc.item","params":{"subscription":"s","result":${value}}}`;

test('each kind of message has its own word', () => {
  const check = (text: string, isSent: boolean, expected: Partial<Arrow>) => {
    const { kind, word, detail, id } = arrowOf(text, 0, isSent);
    assert.deepEqual({ kind, word, detail, id }, { id: undefined, ...expected }, text);
  };
  check(call(1), true, { kind: 'call', word: 'call', detail: 'add [1,2]', id: '1' });
  check('{"jsonrpc":"2.0","method":"log"}', true, { kind: 'notification', word: 'notify', detail: 'log' });
  check('{"jsonrpc":"2.0","method":"onTick","params":[1]}', false, { kind: 'notification', word: 'push', detail: 'onTick [1]' });
  check(result(7), false, { kind: 'result', word: 'result', detail: '3', id: '7' });
  const error = '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":7}';
  check(error, false, { kind: 'error', word: 'error', detail: '-32601 Method not found', id: '7' });
  check('{"jsonrpc":"2.0","result":"s","stream":true,"id":7}', false, { kind: 'result', word: 'stream opened', detail: '"s"', id: '7' });
  check(item(5), false, { kind: 'item', word: 'item', detail: '5 of stream "s"' });
  check('{"method":"rpc.end","params":{"subscription":"s"}}', false, { kind: 'end', word: 'end', detail: 'stream "s"' });
  check('{"method":"rpc.cancel","params":{"id":7}}', true, { kind: 'cancel', word: 'cancel', detail: '', id: '7' });
  check(`[${call(1)},${call(2)}]`, true, { kind: 'batch', word: 'batch of 2', detail: 'add, add' });
  check(`[${result(1)}]`, false, { kind: 'batch', word: 'answers of 1', detail: '' });
  check('hello', false, { kind: 'other', word: 'text', detail: 'hello' });
});

test('messages of both directions stand in the order in which they went', () => {
  const slow = sending(0, call(1), [[30, result(1)]]);
  const fast = sending(10, call(2), [[5, result(2)]]);
  const pushes = [{ moment: 20, text: '{"jsonrpc":"2.0","method":"onTick","params":[1]}' }];
  assert.deepEqual(lines([fast, slow], pushes), [
    '--> call add [1,2] 1',
    '--> call add [1,2] 2',
    '<-- result 3 2',
    '<-- push onTick [1]',
    '<-- result 3 1',
  ]);
});

test('a call of the server and what the page answers are both there', () => {
  assert.deepEqual(lines([], [{ moment: 0, text: call(9) }]), ['<-- call add [1,2] 9', '--> error -32601 Method not found 9']);
});

test('responses that share an id are items of an event stream', () => {
  const stream = sending(0, call(1), [
    [1, result(1)],
    [2, result(1)],
  ], { sent: { text: call(1), transport: 'sse' } });
  assert.deepEqual(lines([stream], []), ['--> call add [1,2] 1', '<-- item 3 1', '<-- item 3 1']);
});

test('messages beside the answer, failures and aborted requests are there', () => {
  const asides = [
    { at: 5, text: '{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":1}}', isSent: true },
    { at: 6, text: '{"jsonrpc":"2.0","error":{"code":-32800,"message":"Cancelled"},"id":1}', isSent: false },
  ];
  const stopped = sending(0, call(1), [], { state: 'stopped', asides });
  const failed = sending(10, call(2), [], { state: 'failed', endedAt: 1, failure: { title: 'The connection was closed' } });
  const aborted = sending(20, call(3), [], { state: 'stopped', endedAt: 1, sent: { text: call(3), transport: 'http' } });
  assert.deepEqual(lines([aborted, failed, stopped], []), [
    '--> call add [1,2] 1',
    '--> cancel 1',
    '<-- error -32800 Cancelled 1',
    '--> call add [1,2] 2',
    'note The connection was closed',
    '--> call add [1,2] 3',
    'note request aborted',
  ]);
});

test('a long stream is folded, and says how much', () => {
  const frames = Array.from({ length: 100 }, (_, at) => [at + 1, item(at)] as const);
  const all = lines([sending(0, call(1), frames, { received: 700 })], []);
  assert.deepEqual(all.slice(0, 2), ['--> call add [1,2] 1', 'note 600 messages not kept']);
  assert.deepEqual(all.slice(2), [
    '<-- item 0 of stream "s"',
    '<-- item 1 of stream "s"',
    'fold 96 more like this',
    '<-- item 98 of stream "s"',
    '<-- item 99 of stream "s"',
  ]);
});

test('a long conversation is bounded, and says what was left out', () => {
  const many = Array.from({ length: 100 }, (_, at) => sending(at * 10, call(at), [[1, result(at)]])).reverse();
  const all = lines(many, []);
  assert.equal(all.length, MOST + 1);
  assert.equal(all[0], 'fold 80 earlier messages left out');
  assert.equal(all.at(-1), '<-- result 3 99');
  assert.equal(lines(many.slice(0, 1), [], { hasOlder: true })[0], 'fold earlier messages left out');
  const push = { moment: 5, text: '{"jsonrpc":"2.0","method":"onTick","params":[9]}' };
  assert.deepEqual(lines([], [push], { lostPushes: 9 }), ['note 9 messages not kept', '<-- push onTick [9]']);
});

test('rows have room, and a long silence is marked', () => {
  const { rows, height } = layOut(conversation([sending(5000, call(2), [[1500, result(2)]])], []));
  assert.deepEqual(
    rows.map(({ at, pause }) => [at, pause]),
    [
      [0, undefined],
      [1500, 1500],
    ],
  );
  assert.ok(rows[0]!.y > HEAD && rows[1]!.y > rows[0]!.y && height > rows[1]!.y);
  assert.equal(layOut([]).rows.length, 0);
});
