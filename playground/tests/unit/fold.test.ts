import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WIDTH, count, entries, folds, key, opened, ranges, whole } from '../../src/json/fold.js';
import type { List, Obj } from '../../src/json/node.js';
import { parse } from '../../src/json/parse.js';

function read(value: unknown): List | Obj {
  return parse(JSON.stringify(value)).node as List | Obj;
}

test('a long list is cut into ranges, down to parts that can be looked through', () => {
  const root = whole(read(Array.from({ length: 300_000 }, (_, at) => at)));
  const first = ranges(root);
  assert.equal(first.length, 30);
  assert.deepEqual([first.at(-1)!.from, first.at(-1)!.to], [290_000, 300_000]);
  const second = ranges(first[0]!);
  assert.equal(second.length, 100);
  assert.deepEqual(ranges(second[0]!), []);
  assert.equal(entries(second[1]!)[0]!.at, 100);
  for (const parts of [first, second]) assert.ok(parts.length <= WIDTH);
});

test('ranges hold every entry once', () => {
  for (const length of [0, 1, 100, 101, 9_999, 10_001]) {
    const parts = [whole(read(Array.from({ length }, () => 0)))];
    let seen = 0;
    for (let part = parts.pop(); part; part = parts.pop()) {
      const within = ranges(part);
      if (within.length > 0) parts.push(...within);
      else seen += entries(part).length;
    }
    assert.equal(seen, length);
  }
});

test('short values stand on one line, empty ones too', () => {
  const node = read({ short: [1, 2], empty: {}, long: Array.from({ length: 40 }, () => 'x') }) as Obj;
  assert.deepEqual(
    node.members.map(({ value }) => folds(value)),
    [false, false, true],
  );
  assert.equal(count(node), 3);
});

test('as many parts are open as there is room for, those near the root first', () => {
  const long = Array.from({ length: 30 }, () => 'xxx');
  const node = read([{ deep: [long] }, long, long]) as List;
  const names = (rows: number) => opened(whole(node), rows);
  assert.deepEqual(names(1), new Set([key(whole(node))]));
  const some = names(40);
  assert.ok(some.has(key(whole(node.items[1] as List))));
  assert.ok(!some.has(key(whole(node.items[2] as List))));
  assert.equal(names(1000).size, 6);
});
