/** What the admin methods answer with. */

/** The answer of `admin/info`. */
export interface Info {
  readonly version: string;
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly draining: boolean;
  readonly listeners: readonly string[];
  readonly config: {
    readonly path?: string;
    readonly hash: string;
    /** Milliseconds since 1970. */
    readonly loadedAt: number;
    readonly ok: boolean;
    readonly error?: string;
  };
  readonly logLevel: string;
  /** Upper limits of the buckets of durations; one more bucket has everything above. */
  readonly bucketsMs: readonly number[];
}

/** What rows are about. */
export type By = 'method' | 'transport' | 'who';

/** Percentiles, where there were calls. */
export interface Percentiles {
  readonly p50Ms?: number;
  readonly p90Ms?: number;
  readonly p99Ms?: number;
}

/** A method, a transport or a caller in one interval. */
export interface Row extends Percentiles {
  readonly name: string;
  readonly calls: number;
  readonly errors: number;
}

export type Counts = Readonly<Record<string, number>>;

/** An item of `admin/stats`: what happened in one interval. */
export interface Stats {
  /** Milliseconds since 1970. */
  readonly t: number;
  readonly seconds: number;
  readonly calls: number;
  readonly errors: Counts;
  readonly refused: Counts;
  readonly security: Counts;
  readonly inFlight: number;
  /** Calls that wait because too many run. */
  readonly waiting: number;
  readonly sessions: Counts;
  readonly streams: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly latency: Percentiles & { readonly buckets: readonly number[] };
  readonly rows: readonly Row[];
}

/** An item of `admin/calls`. */
export interface CallRecord {
  readonly id: number;
  /** When it ended, in milliseconds since 1970. */
  readonly t: number;
  readonly session: string;
  readonly transport: string;
  readonly peer?: string;
  readonly who?: string;
  /** Empty if a message was refused before it could be read. */
  readonly method: string;
  readonly outcome: string;
  readonly code?: number;
  readonly ms: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly items?: number;
  readonly batch?: number;
  readonly entry?: number;
  readonly trace?: string;
  /** Number of an internal error, which the log of the server has too. */
  readonly incident?: string;
}

/** The answer of `admin/call`. */
export interface Timeline {
  readonly call: CallRecord;
  readonly steps: readonly Step[];
}

/** Something that happened during a call, or during its batch. */
export interface Step {
  /** Milliseconds since the call began; negative before. */
  readonly at: number;
  readonly name: string;
  readonly detail: string;
}

/** An entry of an item of `admin/sessions`. */
export interface SessionRecord {
  readonly id: string;
  readonly who?: string;
  readonly peer?: string;
  readonly transport: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly calls: number;
  readonly streams: number;
}

/** An entry of an item of `admin/upstreams`. Counts begin with the process. */
export interface UpstreamRecord {
  readonly name: string;
  /** What its methods begin with. */
  readonly prefix: string;
  readonly state: 'up' | 'degraded' | 'down';
  readonly breaker?: 'closed' | 'open' | 'half-open';
  /** Milliseconds since 1970. */
  readonly breakerUntil?: number;
  readonly methods: number;
  readonly calls: number;
  readonly errors: number;
  readonly retries: number;
  readonly hedges: number;
  readonly inFlight: number;
  readonly cache?: { readonly hits: number; readonly stale: number; readonly misses: number };
  readonly nodes: readonly NodeRecord[];
}

/** A server of an upstream. */
export interface NodeRecord {
  readonly url: string;
  readonly state: 'up' | 'failing' | 'down' | 'lagging' | 'ejected' | 'drained';
  readonly reason?: string;
  /** When it gets calls again, in milliseconds since 1970. */
  readonly until?: number;
  readonly calls: number;
  readonly errors: number;
  readonly inFlight: number;
  readonly latencyMs?: number;
  readonly lag?: number;
}

/** The sum of all counts. */
export function total(counts: Counts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
