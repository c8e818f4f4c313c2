/** The numbers of the last minutes. */

import type { Counts, Stats } from './records.js';
import { total } from './records.js';

/** How long numbers are kept. */
export const KEPT_MS = 15 * 60_000;
/** A longer silence than this is a gap: the server was not connected. */
const GAP_MS = 3_500;

/** One interval, as rates per second and states at its end. */
export interface Point {
  readonly t: number;
  readonly seconds: number;
  /** No numbers are known for the time before it. */
  readonly isAfterGap: boolean;
  readonly count: number;
  readonly calls: number;
  readonly errors: number;
  readonly p50: number | undefined;
  readonly p90: number | undefined;
  readonly p99: number | undefined;
  readonly buckets: readonly number[];
  readonly inFlight: number;
  readonly sessions: number;
  readonly streams: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
}

/** The points, oldest first. */
export class Series {
  points: Point[] = [];

  /** Adds an interval, and drops those that are too old. */
  add(stats: Stats): Point {
    const point = pointOf(stats, this.points.at(-1));
    this.points.push(point);
    const old = this.points.findIndex(({ t }) => t > stats.t - KEPT_MS);
    if (old > 0) this.points.splice(0, old);
    return point;
  }

  /** The points of the last milliseconds, and the one before them, where a line comes from. */
  last(ms: number): readonly Point[] {
    const end = this.points.at(-1)?.t ?? 0;
    const first = this.points.findIndex(({ t }) => t >= end - ms);
    return this.points.slice(Math.max(0, first - 1));
  }
}

/** How many milliseconds to show: what is wanted, or a shorter time that all points fit in. */
export function spanOf({ points }: Series, wanted: number): number {
  const known = points.length > 0 ? points.at(-1)!.t - points[0]!.t : 0;
  return [60_000, 120_000, 300_000].find((span) => span >= known && span < wanted) ?? wanted;
}

function pointOf(stats: Stats, before: Point | undefined): Point {
  const seconds = Math.max(stats.seconds, 0.001);
  const { p50Ms, p90Ms, p99Ms, buckets } = stats.latency;
  return {
    t: stats.t,
    seconds,
    isAfterGap: before === undefined || stats.t - before.t > GAP_MS || stats.t < before.t,
    count: stats.calls,
    calls: stats.calls / seconds,
    errors: total(stats.errors) / seconds,
    p50: p50Ms,
    p90: p90Ms,
    p99: p99Ms,
    buckets,
    inFlight: stats.inFlight,
    sessions: total(stats.sessions),
    streams: stats.streams,
    bytesIn: stats.bytesIn / seconds,
    bytesOut: stats.bytesOut / seconds,
  };
}

/** The average of rates over the last points, each by its length. */
export function mean(points: readonly Point[], value: (point: Point) => number): number {
  const seconds = points.reduce((sum, point) => sum + point.seconds, 0);
  return seconds === 0 ? 0 : points.reduce((sum, point) => sum + value(point) * point.seconds, 0) / seconds;
}

/** Counts by kind over the last minutes. */
export class Tally {
  private entries: { readonly t: number; readonly counts: Counts }[] = [];

  add(t: number, counts: Counts): void {
    if (Object.keys(counts).length > 0) this.entries.push({ t, counts });
    const first = this.entries.findIndex((entry) => entry.t > t - KEPT_MS);
    this.entries.splice(0, first < 0 ? this.entries.length : first);
  }

  /** The sums since a time, largest first, with the time of the last one. */
  since(from: number): { readonly kind: string; readonly count: number; readonly last: number }[] {
    const sums = new Map<string, { count: number; last: number }>();
    for (const { t, counts } of this.entries) {
      if (t < from) continue;
      for (const [kind, count] of Object.entries(counts)) sums.set(kind, { count: (sums.get(kind)?.count ?? 0) + count, last: t });
    }
    return [...sums].map(([kind, sum]) => ({ kind, ...sum })).sort((one, other) => other.count - one.count);
  }
}
