/** Requests that were sent before, kept in this browser. Headers and credentials are never part of it. */

import { effect, signal } from '@preact/signals';
import type { Transport } from '../rpc/endpoint.js';
import type { Intent, Version } from '../rpc/message.js';
import { login } from './access.js';
import { keep, recall } from './store.js';

/** One request as it can be sent again. */
export interface Past {
  readonly at: number;
  readonly endpoint: string;
  readonly transport: Transport;
  readonly version: Version;
  readonly method: string;
  readonly params: string;
  readonly isNotification: boolean;
  /** The calls of a batch; then `method` is its title, and there are no params. */
  readonly batch?: readonly Intent[];
  /** The key of a message that breaks a rule, or another word if it was typed; then `method` is its title, and `params` its text. */
  readonly message?: string;
  /** The outcome, in a word; empty while the request is open. */
  readonly outcome: string;
  readonly isFailure: boolean;
}

const MOST = 100;
/** Longer requests are not kept. */
const LONGEST = 16 << 10;

export const past = signal<readonly Past[]>(recall('history', readAll) ?? []);

effect(() => keep('history', past.value.length === 0 ? undefined : past.value));

/** Adds a request; returns a function that sets its outcome. */
export function remember(entry: Omit<Past, 'at' | 'outcome' | 'isFailure'>): (outcome: string, isFailure: boolean) => void {
  const text = JSON.stringify(entry);
  if (text.length > LONGEST || holdsSecret(text)) return () => undefined;
  const at = Math.max(Date.now(), (past.value[0]?.at ?? 0) + 1);
  past.value = [{ ...entry, at, outcome: '', isFailure: false }, ...past.value].slice(0, MOST);
  return (outcome, isFailure) => {
    past.value = past.value.map((known) => (known.at === at ? { ...known, outcome, isFailure } : known));
  };
}

/** Whether a request has a credential in it: the params of `rpc.login` are one. */
function holdsSecret(text: string): boolean {
  return text.includes('rpc.login') || (login.value !== undefined && text.includes(login.value.secret));
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
    (entry.batch === undefined || (Array.isArray(entry.batch) && entry.batch.every(isIntent))) &&
    ['undefined', 'string'].includes(typeof entry.message) &&
    [entry.endpoint, entry.transport, entry.version, entry.method, entry.params, entry.outcome].every((text) => typeof text === 'string')
  );
}

function isIntent(value: unknown): value is Intent {
  const intent = value as Partial<Intent> | null;
  return (
    typeof intent === 'object' &&
    intent !== null &&
    [intent.version, intent.method, intent.params].every((text) => typeof text === 'string')
  );
}
