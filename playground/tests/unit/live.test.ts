import assert from 'node:assert/strict';
import { test } from 'node:test';
import { milliseconds, readFilter } from '../../src/live/filter.js';
import { age, bytes, compact, duration, preciseClock, share } from '../../src/live/format.js';
import { heatMap, heightOf, merge, quantile } from '../../src/live/histogram.js';
import type { CallRecord, Stats } from '../../src/live/records.js';
import { Rows, sorted } from '../../src/live/rows.js';
import { area, line, linear, logarithmic } from '../../src/live/scale.js';
import { Series, Tally, mean, spanOf } from '../../src/live/series.js';
import { alone, bars, extent } from '../../src/live/timeline.js';

const LIMITS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096];

function checked<T>(format: (value: T) => string, expected: readonly (readonly [T, string])[]): void {
  for (const [value, text] of expected) assert.equal(format(value), text);
}

test('numbers keep three digits', () => {
  checked(compact, [
    [0, '0'],
    [0.004, '<0.01'],
    [0.5, '0.5'],
    [12.34, '12.3'],
    [999.4, '999'],
    [999.6, '1k'],
    [12_345, '12.3k'],
    [2_500_000, '2.5M'],
  ]);
});

test('durations have the unit that suits them', () => {
  checked(duration, [
    [undefined, '–'],
    [0, '0 ms'],
    [0.0123, '12.3 µs'],
    [0.99999, '1 ms'],
    [1.234, '1.23 ms'],
    [250, '250 ms'],
    [999.9, '1 s'],
    [12_340, '12.3 s'],
    [90_000, '1 min 30 s'],
  ]);
  checked(age, [
    [-5, '0 s'],
    [59_999, '59 s'],
    [3_600_000, '1 h'],
    [90_000_000, '1 d 1 h'],
  ]);
});

test('sizes and shares are short', () => {
  checked(bytes, [
    [0, '0 B'],
    [1023, '1023 B'],
    [1536, '1.5 KiB'],
    [5 << 20, '5 MiB'],
  ]);
  const shares: [number, number, string][] = [
    [0, 0, '0%'],
    [1, 3, '33.3%'],
    [1, 100_000, '<0.1%'],
    [99_999, 100_000, '99.9%'],
    [7, 7, '100%'],
  ];
  for (const [part, all, text] of shares) assert.equal(share(part, all), text);
});

test('the time of a call has milliseconds', () => {
  assert.match(preciseClock(1_794_951_189_043.4), /^\d\d:\d\d:\d\d\.043$/);
});

test('percentiles of several intervals lie within the right bucket', () => {
  const sum = merge([[], [0, 10], [0, 0, 88, 2]]);
  assert.deepEqual(sum, [0, 10, 88, 2]);
  assert.equal(quantile([], LIMITS, 0.5), undefined);
  assert.equal(quantile([0, 10], LIMITS, 1), 2);
  assert.equal(quantile([0, 10], LIMITS, 0.5), 1.5);
  const [p50, p99] = [0.5, 0.99].map((part) => quantile(sum, LIMITS, part)!);
  assert.ok(p50! > 2 && p50! < 4, String(p50));
  assert.ok(p99! > 4 && p99! <= 8, String(p99));
  // Above all limits only the last limit is known.
  assert.equal(quantile([...LIMITS.map(() => 0), 1], LIMITS, 0.5), 4096);
});

test('the heat map counts every call in the time shown, once', () => {
  const slices = [
    { t: 0, buckets: [9] },
    { t: 500, buckets: [1, 2, 3] },
    { t: 1000, buckets: LIMITS.map(() => 1) },
    { t: 2000, buckets: [...LIMITS.map(() => 0), 5] },
    { t: 2001, buckets: [9] },
  ];
  const map = heatMap(slices, LIMITS, 0, 2000, 2);
  assert.equal(map.columns, 2);
  assert.equal(map.cells.length, map.columns * map.rows);
  const column = (at: number) => map.cells.slice(at * map.rows, (at + 1) * map.rows);
  const columns = [0, 1].map((at) => column(at).reduce((sum, count) => sum + count, 0));
  assert.deepEqual(columns, [6, LIMITS.length + 5]);
  assert.equal(map.most, 6);
});

test('a duration is found at its height in the heat map', () => {
  const map = heatMap([{ t: 1, buckets: LIMITS.map(() => 1) }], LIMITS, 0, 1, 1);
  assert.equal(map.edges.length, map.rows + 1);
  const heights = [1, 10, 100, 1000].map((ms) => heightOf(map, ms)!);
  assert.deepEqual(heights, [...heights].sort((one, other) => one - other));
  assert.ok(heights.every((height) => height >= 0 && height <= 1));
  assert.equal(heightOf(map, 1e9), undefined);
});

test('a heat map without calls still has rows and edges', () => {
  const map = heatMap([], LIMITS, 0, 1000, 5);
  assert.equal(map.most, 0);
  assert.ok(map.rows > 0 && map.edges.every((edge) => edge > 0));
});

function stats(t: number, more: Partial<Stats> = {}): Stats {
  const none = { errors: {}, refused: {}, security: {}, sessions: {}, rows: [], latency: { buckets: [] } };
  return { t, seconds: 1, calls: 0, inFlight: 0, waiting: 0, streams: 0, bytesIn: 0, bytesOut: 0, ...none, ...more };
}

test('numbers become rates, old ones are dropped, and a gap is known', () => {
  const series = new Series();
  const first = series.add(stats(1000, { seconds: 2, calls: 10, errors: { '-32601': 4 }, sessions: { http: 1, ws: 2 } }));
  assert.deepEqual([first.calls, first.errors, first.sessions, first.isAfterGap], [5, 2, 3, true]);
  assert.equal(series.add(stats(2000)).isAfterGap, false);
  assert.equal(series.add(stats(9000)).isAfterGap, true);
  assert.equal(mean(series.points.slice(0, 2), (point) => point.calls), 10 / 3);
  assert.equal(series.last(1000).length, 2);
  series.add(stats(3_600_000));
  assert.equal(series.points.length, 1);
});

test('a chart shows no more time than there are numbers for', () => {
  const series = new Series();
  for (const [t, wanted, expected] of [
    [0, 300_000, 60_000],
    [70_000, 300_000, 120_000],
    [70_001, 60_000, 60_000],
    [290_000, 900_000, 300_000],
    [400_000, 900_000, 900_000],
  ] as const) {
    series.add(stats(t));
    assert.equal(spanOf(series, wanted), expected);
  }
});

test('troubles are summed up by kind, the most frequent first', () => {
  const tally = new Tally();
  tally.add(1000, { a: 1 });
  tally.add(2000, { a: 1, b: 5 });
  tally.add(3000, {});
  assert.deepEqual(
    tally.since(0).map(({ kind, count, last }) => [kind, count, last]),
    [
      ['b', 5, 2000],
      ['a', 2, 2000],
    ],
  );
  assert.deepEqual(tally.since(2500), []);
});

test('rows are averages of the last intervals, and stay for a while', () => {
  const rows = new Rows();
  rows.add(1, [{ name: 'a', calls: 30, errors: 3, p50Ms: 1 }]);
  rows.add(2, [
    { name: 'a', calls: 10, errors: 0, p50Ms: 5 },
    { name: 'b', calls: 90, errors: 0, p50Ms: 2 },
  ]);
  const [a, b] = sorted(rows.standings(), 'name', true);
  assert.equal(a!.rate, 40 / 3);
  assert.equal(a!.errors, 3);
  assert.equal(a!.p50, 2);
  assert.deepEqual(b!.past, [0, 45]);
  for (let more = 0; more < 20; more += 1) rows.add(1, []);
  const idle = rows.standings().find((row) => row.name === 'a');
  assert.deepEqual([idle?.rate, idle?.p50], [0, undefined]);
  for (let more = 0; more < 60; more += 1) rows.add(1, []);
  assert.deepEqual(rows.standings(), []);
});

test('rows are sorted by each column, equal ones by name', () => {
  const rows = new Rows();
  rows.add(1, [
    { name: 'slow', calls: 1, errors: 1, p99Ms: 900 },
    { name: 'busy', calls: 9, errors: 0, p99Ms: 1 },
    { name: 'also', calls: 9, errors: 1, p99Ms: 2 },
  ]);
  const names = (...by: [Parameters<typeof sorted>[1], boolean]) => sorted(rows.standings(), ...by).map((row) => row.name);
  assert.deepEqual(names('rate', false), ['also', 'busy', 'slow']);
  assert.deepEqual(names('errors', false), ['slow', 'also', 'busy']);
  assert.deepEqual(names('p99', true), ['busy', 'also', 'slow']);
  assert.deepEqual(names('name', false), ['slow', 'busy', 'also']);
});

test('a filter becomes params, and says what is wrong with it', () => {
  const empty = { method: '', who: '', outcome: '', slowerThan: '' };
  assert.deepEqual(readFilter(empty), { params: {} });
  const all = { method: 'math/*, sum', who: ' ada ', outcome: 'failed', slowerThan: '1.5s' };
  assert.deepEqual(readFilter(all), { params: { methods: ['math/*', 'sum'], who: 'ada', outcome: 'failed', slower_than: '1500ms' } });
  for (const method of ['**', 'a/**', '*/b', 'a*']) assert.ok('params' in readFilter({ ...empty, method }), method);
  assert.equal((readFilter({ ...empty, method: 'a**' }) as { field: string }).field, 'method');
  assert.equal((readFilter({ ...empty, slowerThan: 'soon' }) as { field: string }).field, 'slowerThan');
});

test('durations are read with and without a unit', () => {
  for (const [text, ms] of [
    ['100', 100],
    ['0.5ms', 0.5],
    ['2 s', 2000],
    ['1m', 60_000],
    ['0', undefined],
    ['-1s', undefined],
    ['', undefined],
  ] as const) {
    assert.equal(milliseconds(text), ms, text);
  }
});

const CALL: CallRecord = {
  id: 7,
  t: 5000,
  session: 'abcdefgh',
  transport: 'http',
  method: 'wait',
  outcome: 'ok',
  ms: 200,
  bytesIn: 1,
  bytesOut: 2,
};

test('a call alone is one bar', () => {
  const all = bars(alone(CALL));
  assert.deepEqual(
    all.map(({ kind, label, from, to, isFailed }) => [kind, label, from, to, isFailed]),
    [['own', 'wait', 0, 200, false]],
  );
  assert.ok(extent(bars(alone({ ...CALL, ms: 0 }))).to > 0);
});

test('a batch is a bar for each entry, in their order', () => {
  const steps = [
    { at: -1, name: 'entry begun', detail: 'entry 0: sum' },
    { at: -0.5, name: 'entry ended', detail: 'entry 0: sum ok' },
    { at: 0, name: 'begun', detail: 'wait over http' },
    { at: 2, name: 'entry begun', detail: 'entry 2: nope' },
    { at: 3, name: 'entry ended', detail: 'entry 2: nope error -32601' },
    { at: 200, name: 'ended', detail: 'ok' },
  ];
  const all = bars({ call: { ...CALL, batch: 1, entry: 1 }, steps });
  assert.deepEqual(
    all.map(({ number, label, from, to, isFailed }) => [number, label, from, to, isFailed]),
    [
      [0, 'sum', -1, -0.5, false],
      [1, 'wait', 0, 200, false],
      [2, 'nope', 2, 3, true],
    ],
  );
  assert.deepEqual(extent(all), { from: -1, to: 200 });
});

test('calls back are bars below the call that made them, whatever they are called', () => {
  const steps = [
    { at: 0, name: 'begun', detail: 'wait over ws' },
    { at: 1, name: 'callback begun', detail: 'call 1: ask me' },
    { at: 2, name: 'callback begun', detail: 'call 2: tell' },
    { at: 3, name: 'callback ended', detail: 'call 2: tell sent' },
    { at: 4, name: 'callback ended', detail: 'call 1: ask me error -32601' },
    { at: 5, name: 'callback begun', detail: 'call 3: ask me' },
    { at: 200, name: 'ended', detail: 'ok' },
    { at: 201, name: 'entry begun', detail: 'entry 1: sum' },
    { at: 202, name: 'entry ended', detail: 'entry 1: sum ok' },
  ];
  assert.deepEqual(
    bars({ call: { ...CALL, batch: 1, entry: 0 }, steps }).map(({ kind, label, detail, from, to, isFailed }) => [kind, label, detail, from, to, isFailed]),
    [
      ['own', 'wait', 'ok', 0, 200, false],
      ['callback', 'ask me', 'error -32601', 1, 4, true],
      ['callback', 'tell', 'sent', 2, 3, false],
      ['callback', 'ask me', 'not ended', 5, 200, false],
      ['entry', 'sum', 'ok', 201, 202, false],
    ],
  );
});

test('axes end at round numbers', () => {
  for (const [most, top] of [
    [0, 10],
    [10, 10],
    [11, 20],
    [4321, 5000],
    [950, 1000],
  ] as const) {
    assert.equal(linear(most, 10).ticks.at(-1), top);
  }
  const scale = logarithmic([0.02, 150]);
  assert.deepEqual(scale.ticks, [0.1, 1, 10, 100].filter((tick) => scale.at(tick) >= 0 && scale.at(tick) <= 1));
  assert.ok(scale.at(0.02) > 0 && scale.at(150) < 1);
});

test('lines are interrupted where there is no value, and after a gap', () => {
  const dot = (x: number, y: number | undefined, isFirst = false) => ({ x, y, isFirst });
  const dots = [dot(0, 1), dot(1, 2), dot(2, undefined), dot(3, 4), dot(4, 5, true), dot(5, 6)];
  assert.equal(line(dots), 'M0 1L1 2M3 4h1M4 5L5 6');
  assert.equal(area(dots, 9), 'M0 9L0 1L1 2L1 9ZM4 9L4 5L5 6L5 9Z');
});
