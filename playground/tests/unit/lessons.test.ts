import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Check, type Seen, look } from '../../src/lessons/check.js';
import { LESSONS, type Step } from '../../src/lessons/lessons.js';
import { readMessage } from '../../src/rpc/message.js';
import { remarks } from '../../src/rpc/remarks.js';
import { readTyped } from '../../src/rpc/typed.js';

function seen(messages: readonly string[], pushes: readonly string[] = [], isOver = true): Seen {
  return { messages: messages.map(readMessage), pushes: pushes.map(readMessage), isOver };
}

function check(expected: Check, given: Seen, state: string): void {
  assert.equal(look(expected, given).state, state, JSON.stringify(expected));
}

const five = '{"jsonrpc":"2.0","result":5,"id":1}';
const refused = '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}';

test('a result is compared by its value and its id', () => {
  check({ kind: 'result', result: '5', id: '1' }, seen([five]), 'passed');
  check({ kind: 'result', id: '1' }, seen([five]), 'passed');
  check({ kind: 'result', result: '5', id: '"1"' }, seen([five]), 'different');
  check({ kind: 'result', result: '6', id: '1' }, seen([five]), 'different');
  check({ kind: 'result', id: '1' }, seen([refused]), 'different');
  check({ kind: 'result', id: '1' }, seen([], [], false), 'waiting');
});

test('an error is compared by its code, and by its id where only one is right', () => {
  check({ kind: 'error', code: -32601, id: '1' }, seen([refused]), 'passed');
  check({ kind: 'error', code: -32601 }, seen([refused]), 'passed');
  check({ kind: 'error', code: -32601, id: 'null' }, seen([refused]), 'different');
  check({ kind: 'error', code: -32600 }, seen([refused]), 'different');
});

test('no answer is one only when nothing can follow', () => {
  check({ kind: 'nothing' }, seen([]), 'passed');
  check({ kind: 'nothing' }, seen([], [], false), 'waiting');
  check({ kind: 'nothing' }, seen([five]), 'different');
});

test('answers of a batch may come in any order, and no more than expected', () => {
  const answers = [{ id: '1', result: '5' }, { id: 'null', error: -32600 }];
  const bad = '{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"},"id":null}';
  check({ kind: 'answers', answers }, seen([`[${bad},${five}]`]), 'passed');
  check({ kind: 'answers', answers }, seen([`[${bad},${five},${five}]`]), 'different');
  check({ kind: 'answers', answers }, seen([five]), 'different');
});

test('items are found in events and in notifications of a connection', () => {
  const items = ['1', '2'];
  const event = (value: number) => `{"jsonrpc":"2.0","result":${value},"id":1}`;
  check({ kind: 'items', items }, seen([event(1), event(2)]), 'passed');
  check({ kind: 'items', items }, seen([event(1)], [], false), 'waiting');
  const note = (value: number) => `{"jsonrpc":"2.0","method":"rpc.item","params":{"subscription":"s","result":${value}}}`;
  const end = '{"jsonrpc":"2.0","method":"rpc.end","params":{"subscription":"s"}}';
  check({ kind: 'items', items }, seen(['{"result":"s","stream":true,"id":1}', note(1), note(2), end]), 'passed');
});

test('pushes are waited for, unless the call that asked for them failed', () => {
  const tick = '{"jsonrpc":"2.0","method":"onTick","params":[0]}';
  check({ kind: 'pushes', method: 'onTick', least: 2 }, seen([five], [tick]), 'waiting');
  check({ kind: 'pushes', method: 'onTick', least: 2 }, seen([five], [tick, tick]), 'passed');
  check({ kind: 'pushes', method: 'onTick', least: 2 }, seen([refused]), 'different');
});

test('the order of answers counts', () => {
  const answer = (id: string) => `{"jsonrpc":"2.0","result":1,"id":${id}}`;
  check({ kind: 'order', ids: ['2', '1'] }, seen([answer('2')], [], false), 'waiting');
  check({ kind: 'order', ids: ['2', '1'] }, seen([answer('2'), answer('1')]), 'passed');
  check({ kind: 'order', ids: ['2', '1'] }, seen([answer('1'), answer('2')]), 'different');
});

test('what differs is said in words', () => {
  const verdict = look({ kind: 'result', result: '19', id: '1' }, seen([refused]));
  assert.deepEqual(verdict, {
    state: 'different',
    text: 'Expected the result 19 with the id 1. The server sent the error -32601 with the id 1: it has no such method.',
  });
});

/** The methods that the messages of a step call, as far as they can be read. */
function called({ first, send }: Step): string[] {
  const read = [first, send].flatMap((text) => (text === undefined ? [] : (readTyped(text) ?? [])));
  return read.map(({ method }) => method).filter((method) => method !== 'rpc.cancel' && method !== 'no/such/method');
}

test('each step names the methods it needs', () => {
  for (const { key, steps } of LESSONS) {
    for (const step of steps) {
      if (key === 'rules' || step.check.kind === 'answers') continue;
      assert.deepEqual([...step.needs].sort(), [...new Set(called(step))].sort(), step.title);
    }
  }
});

test('only steps that are about a broken rule break one', () => {
  for (const { steps } of LESSONS) {
    for (const { title, send, first, check } of steps) {
      const isBroken = remarks(send).some(({ isBreach }) => isBreach);
      const isMeant =
        (check.kind === 'error' && [-32700, -32600].includes(check.code)) ||
        (check.kind === 'answers' && check.answers.some(({ error }) => error === -32600));
      assert.equal(isBroken, isMeant, title);
      assert.deepEqual(first === undefined ? [] : remarks(first), [], title);
    }
  }
});

test('each lesson has its own key, and a few short steps', () => {
  assert.equal(new Set(LESSONS.map(({ key }) => key)).size, LESSONS.length);
  for (const { steps, key } of LESSONS) {
    assert.ok(steps.length >= 2 && steps.length <= 5, key);
    for (const { text, notice } of steps) assert.ok(text.length < 260 && notice.length < 260, text);
  }
});
