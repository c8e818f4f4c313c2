/** Methods, transports or callers over the last minute. */

import type { Row } from './records.js';

/** How many intervals a row is shown for after its last call, and how many its sparkline has. */
export const KEPT = 60;
/** Numbers are of this many intervals, so that they can be read. */
const RECENT = 10;

/** A row of the table. */
export interface Standing {
  readonly name: string;
  /** Calls per second. */
  readonly rate: number;
  readonly calls: number;
  readonly errors: number;
  readonly p50: number | undefined;
  readonly p90: number | undefined;
  readonly p99: number | undefined;
  /** Calls per second of each interval, oldest first. */
  readonly past: readonly number[];
}

export type Column = 'name' | 'rate' | 'errors' | 'p50' | 'p90' | 'p99';

interface Interval {
  readonly seconds: number;
  readonly rows: ReadonlyMap<string, Row>;
}

/** Remembers the rows of each interval. */
export class Rows {
  private intervals: Interval[] = [];

  add(seconds: number, rows: readonly Row[]): void {
    this.intervals.push({ seconds, rows: new Map(rows.map((row) => [row.name, row])) });
    if (this.intervals.length > KEPT) this.intervals.shift();
  }

  /** Every row that had calls. */
  standings(): Standing[] {
    const names = new Set(this.intervals.flatMap(({ rows }) => [...rows.keys()]));
    return [...names].map((name) => this.standing(name));
  }

  private standing(name: string): Standing {
    const recent = this.intervals.slice(-RECENT);
    const seconds = recent.reduce((sum, interval) => sum + interval.seconds, 0);
    const rows = recent.flatMap((interval) => interval.rows.get(name) ?? []);
    const sum = (value: (row: Row) => number) => rows.reduce((all, row) => all + value(row), 0);
    const calls = sum((row) => row.calls);
    // The server gives percentiles per interval; busy intervals count more.
    const percentile = (value: (row: Row) => number | undefined) =>
      calls === 0 ? undefined : sum((row) => (value(row) ?? 0) * row.calls) / calls;
    return {
      name,
      rate: seconds === 0 ? 0 : calls / seconds,
      calls,
      errors: sum((row) => row.errors),
      p50: percentile((row) => row.p50Ms),
      p90: percentile((row) => row.p90Ms),
      p99: percentile((row) => row.p99Ms),
      past: this.intervals.map((interval) => (interval.rows.get(name)?.calls ?? 0) / interval.seconds),
    };
  }
}

/** Sorts rows by a column; equal ones by name, so that they keep their places. */
export function sorted(rows: readonly Standing[], column: Column, isAscending: boolean): Standing[] {
  const value = (row: Standing) => (column === 'errors' ? (row.calls === 0 ? 0 : row.errors / row.calls) : (row[column as 'rate'] ?? -1));
  const sign = isAscending ? 1 : -1;
  return [...rows].sort((one, other) => {
    const byName = one.name < other.name ? -1 : one.name > other.name ? 1 : 0;
    return column === 'name' ? sign * byName : sign * (value(one) - value(other)) || byName;
  });
}
