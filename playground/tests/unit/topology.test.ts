import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rates } from '../../src/live/rates.js';
import type { NodeRecord, UpstreamRecord } from '../../src/live/records.js';
import { clientLinks, groupHeight, height, nodeLinks, path, thickness, upstreamHealth, upstreamLinks } from '../../src/live/topology.js';

function node(url: string, state: NodeRecord['state'] = 'up'): NodeRecord {
  return { url, state, calls: 0, errors: 0, inFlight: 0 };
}

function upstream(name: string, state: UpstreamRecord['state'], nodes: readonly NodeRecord[]): UpstreamRecord {
  return { name, prefix: `${name}/`, state, methods: 0, calls: 0, errors: 0, retries: 0, hedges: 0, inFlight: 0, nodes };
}

test('lines end in the middle of their boxes', () => {
  const three = upstream('three', 'degraded', [node('a'), node('b', 'down'), node('c', 'drained')]);
  const one = upstream('one', 'up', [node('d')]);
  const tall = height([three, one], 2);
  assert.equal(tall, groupHeight(3) + 16 + groupHeight(1));
  const links = upstreamLinks([three, one], tall, () => 0);
  assert.deepEqual(links.map(({ from, to, health }) => [from, to, health]), [
    [tall / 2, groupHeight(3) / 2, 'fair'],
    [tall / 2, tall - groupHeight(1) / 2, 'good'],
  ]);
  assert.deepEqual(nodeLinks(three, () => 0).map(({ from, to, health }) => [from, to, health]), [
    [groupHeight(3) / 2, 28, 'good'],
    [groupHeight(3) / 2, groupHeight(3) / 2, 'bad'],
    [groupHeight(3) / 2, groupHeight(3) - 28, 'off'],
  ]);
  const clients = clientLinks([{ name: 'http', rate: 1 }, { name: 'ws', rate: 2 }], tall);
  assert.equal(clients[0]!.from + clients[1]!.from, tall);
  assert.equal(path(links[0]!, 64), `M0 ${tall / 2} C32 ${tall / 2} 32 ${groupHeight(3) / 2} 64 ${groupHeight(3) / 2}`);
});

test('an upstream whose servers are all drained is off', () => {
  assert.equal(upstreamHealth(upstream('u', 'down', [node('a', 'drained')])), 'off');
  assert.equal(upstreamHealth(upstream('u', 'down', [node('a', 'drained'), node('b', 'down')])), 'bad');
});

test('more calls make thicker lines, up to a limit', () => {
  const widths = [0, 1, 100, 10_000, 1e12].map(thickness);
  assert.deepEqual(widths, [...widths].sort((one, other) => one - other));
  assert.equal(widths.at(-1), 8);
});

test('rates are averages of the last seconds', () => {
  const rates = new Rates();
  const add = (t: number, calls: number) => rates.add(t, new Map([['u', calls]]));
  assert.equal(rates.of('u', 0), 0);
  add(0, 100);
  assert.equal(rates.of('u', 0), 0, 'one sample says nothing');
  for (let second = 1; second <= 10; second += 1) add(second * 1000, 100 + second * 20);
  assert.equal(rates.of('u', 10_000), 20);
  assert.equal(rates.of('other', 10_000), 0);
  // The server sends nothing while nothing changes.
  assert.equal(rates.of('u', 16_000), 0);
  add(60_000, 340);
  assert.equal(rates.of('u', 60_000), 40, 'the calls of the last second');
});
