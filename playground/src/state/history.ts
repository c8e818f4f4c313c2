/** What was sent before, kept in this browser. Headers and tokens are never among it. */

import { effect, signal } from '@preact/signals';
import type { Transport } from '../rpc/endpoint.js';
import type { Version } from '../rpc/message.js';
import { keep, recall } from './store.js';

/** One call as it can be made again. */
export interface Past {
  readonly at: number;
  readonly endpoint: string;
  readonly transport: Transport;
  readonly version: Version;
  readonly method: string;
  readonly params: string;
  readonly isNotification: boolean;
  /** What came of it, in a word; empty while that is open. */
  readonly outcome: string;
  readonly isFailure: boolean;
}

const MOST = 100;
/** Longer params are not kept. */
const LONGEST = 16 << 10;

export const past = signal<readonly Past[]>(recall('history', readAll) ?? []);

effect(() => keep('history', past.value.length === 0 ? undefined : past.value));

/** Adds a call; returns how to say later what came of it. */
export function remember(entry: Omit<Past, 'at' | 'outcome' | 'isFailure'>): (outcome: string, isFailure: boolean) => void {
  if (entry.params.length > LONGEST) return () => undefined;
  const at = Math.max(Date.now(), (past.value[0]?.at ?? 0) + 1);
  past.value = [{ ...entry, at, outcome: '', isFailure: false }, ...past.value].slice(0, MOST);
  return (outcome, isFailure) => {
    past.value = past.value.map((known) => (known.at === at ? { ...known, outcome, isFailure } : known));
  };
}

export function clearHistory(): void {
  past.value = [];
}

function readAll(value: unknown): readonly Past[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter(isPast).slice(0, MOST);
}

function isPast(value: unknown): value is Past {
  const entry = value as Partial<Past> | null;
  return (
    typeof entry === 'object' &&
    entry !== null &&
    typeof entry.at === 'number' &&
    [entry.endpoint, entry.transport, entry.version, entry.method, entry.params, entry.outcome].every((text) => typeof text === 'string')
  );
}
