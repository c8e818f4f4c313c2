/** Durations counted in buckets: percentiles over several intervals, and the heat map. */

/** Adds up the buckets of several intervals. Intervals without calls have none. */
export function merge(all: readonly (readonly number[])[]): number[] {
  const sum: number[] = [];
  for (const buckets of all) buckets.forEach((count, at) => (sum[at] = (sum[at] ?? 0) + count));
  return sum;
}

/**
 * The duration that this share of the calls did not exceed, as the server computes it: within the right bucket, in
 * proportion. Undefined without calls.
 */
export function quantile(buckets: readonly number[], limits: readonly number[], share: number): number | undefined {
  const all = buckets.reduce((sum, count) => sum + count, 0);
  const wanted = Math.max(1, Math.ceil(all * share));
  let before = 0;
  for (const [at, count] of buckets.entries()) {
    if (before + count >= wanted) {
      const from = limits[at - 1] ?? 0;
      const to = limits[at] ?? from;
      return from + ((to - from) * (wanted - before)) / count;
    }
    before += count;
  }
  return undefined;
}

/** How many neighbouring buckets make a row of the heat map: five rows for each factor of ten. */
const GROUP = 2;
/** Rows that are shown at least, so that a steady server does not fill the map with one row. */
const LEAST_ROWS = 10;

/** One interval of a heat map. */
export interface Slice {
  readonly t: number;
  readonly buckets: readonly number[];
}

/** Counts by time and duration. */
export interface HeatMap {
  readonly columns: number;
  readonly rows: number;
  /** By column, then by row; the shortest durations first. */
  readonly cells: Float64Array;
  /** The largest count. */
  readonly most: number;
  /** The lower limit of each row in milliseconds, and the upper limit of the last one. */
  readonly edges: readonly number[];
}

/** Puts intervals into columns of equal width between two times, and their buckets into rows. */
export function heatMap(slices: readonly Slice[], limits: readonly number[], from: number, to: number, columns: number): HeatMap {
  const inside = slices.filter(({ t }) => t > from && t <= to);
  const { first, rows } = rowsOf(merge(inside.map(({ buckets }) => buckets)), limits.length + 1);
  const cells = new Float64Array(columns * rows);
  for (const { t, buckets } of inside) {
    const column = Math.min(columns - 1, Math.floor(((t - from) / (to - from)) * columns));
    buckets.forEach((count, at) => {
      const row = Math.floor(at / GROUP) - first;
      if (count > 0 && row >= 0 && row < rows) cells[column * rows + row]! += count;
    });
  }
  const edges = Array.from({ length: rows + 1 }, (_, row) => edge(limits, (first + row) * GROUP));
  return { columns, rows, cells, most: cells.reduce((most, count) => Math.max(most, count), 0), edges };
}

/** Where a duration lies in the map: 0 at its lower edge, 1 at its upper edge. Undefined outside. */
export function heightOf({ edges, rows }: HeatMap, ms: number): number | undefined {
  const row = edges.findIndex((limit, at) => at > 0 && ms <= limit) - 1;
  if (row < 0 || ms < edges[0]!) return undefined;
  const [low, high] = [edges[row]!, edges[row + 1]!];
  return (row + Math.log(ms / low) / Math.log(high / low)) / rows;
}

/** The rows that have calls, and some around them. */
function rowsOf(sum: readonly number[], buckets: number): { first: number; rows: number } {
  const all = Math.ceil(buckets / GROUP);
  const used = sum.flatMap((count, at) => (count > 0 ? [Math.floor(at / GROUP)] : []));
  let first = used.length > 0 ? Math.max(0, used[0]! - 1) : 10;
  const last = used.length > 0 ? Math.min(all - 1, used.at(-1)! + 1) : first + LEAST_ROWS - 1;
  const rows = Math.min(all, Math.max(LEAST_ROWS, last - first + 1));
  first = Math.max(0, Math.min(first - Math.floor((rows - (last - first + 1)) / 2), all - rows));
  return { first, rows };
}

/** The lower limit of a bucket; of the first one and beyond the last one, what the neighbours suggest. */
function edge(limits: readonly number[], bucket: number): number {
  if (bucket === 0) return (limits[0] ?? 1) / 1.5;
  return limits[bucket - 1] ?? (limits.at(-1) ?? 1) * 1.5;
}
