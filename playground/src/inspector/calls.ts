/** Requests that were sent, and what became of them. */

import { type Signal, signal } from '@preact/signals';
import type { RpcError } from '../rpc/message.js';
import { spoken } from '../state/spoken.js';
import type { Kind } from './items.js';
import { CallFailed } from './link.js';
import { callText, connection } from './session.js';

export interface Progress {
  readonly key: number;
  readonly progress: number;
  readonly total: number | null;
  readonly message: string | null;
}

export type Outcome =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'result'; readonly text: string; readonly ms: number }
  | { readonly kind: 'error'; readonly error: RpcError; readonly ms: number }
  | { readonly kind: 'stopped'; readonly ms: number };

/** What a request was made from, to make it again. */
export interface Origin {
  readonly kind: Kind;
  readonly id: string;
  readonly args: string;
}

export interface Sent {
  readonly key: number;
  /** The connection it was sent over. */
  readonly connection: number;
  readonly at: Date;
  readonly method: string;
  /** JSON text. */
  readonly params: string;
  readonly title: string;
  readonly origin: Origin | undefined;
  readonly outcome: Signal<Outcome>;
  readonly progress: Signal<readonly Progress[]>;
  readonly stop: () => void;
  /** Says that it was stopped, or that its connection ends. */
  readonly signal: AbortSignal;
}

/** As many are kept. */
const KEPT = 100;
const KEPT_PROGRESS = 200;

/** The last requests, the newest first. */
export const log = signal<readonly Sent[]>([]);
export const shown = signal<Sent | undefined>(undefined);
let lastKey = 0;

/** Sends a request to the server, and shows it. */
export function send(method: string, params: string, title: string, origin?: Origin): Sent {
  lastKey += 1;
  const key = lastKey;
  const controller = new AbortController();
  const outcome = signal<Outcome>({ kind: 'waiting' });
  const sent: Sent = {
    key,
    connection: connection.value,
    at: new Date(),
    method,
    params,
    title,
    origin,
    outcome,
    progress: signal<readonly Progress[]>([]),
    stop: () => controller.abort(),
    signal: controller.signal,
  };
  log.value = [sent, ...log.value].slice(0, KEPT);
  shown.value = sent;
  const begun = performance.now();
  const end = (value: Outcome) => {
    outcome.value = value;
    spoken.value = `${title}: ${wordOf(value)}`;
  };
  const asked = `{"method":${JSON.stringify(method)},"params":${params},"key":${key}}`;
  callText('inspect/request', asked, controller.signal).then(
    (text) => end({ kind: 'result', text, ms: performance.now() - begun }),
    (error: unknown) => {
      const ms = performance.now() - begun;
      if (controller.signal.aborted) end({ kind: 'stopped', ms });
      else end({ kind: 'error', error: error instanceof CallFailed ? error.error : { code: undefined, message: String(error), data: undefined }, ms });
    },
  );
  return sent;
}

/** Whether the connection is still the one that it was sent over. */
export function isCurrent(sent: Sent): boolean {
  return sent.connection === connection.value;
}

/** Another connection begins: its server must not get what was for the one before. */
export function forgetCalls(): void {
  for (const { stop } of log.value) stop();
  log.value = [];
  shown.value = undefined;
}

export function noteProgress(progress: Progress): void {
  const sent = log.value.find(({ key }) => key === progress.key);
  if (sent) sent.progress.value = [...sent.progress.value, progress].slice(-KEPT_PROGRESS);
}

/** Whether a tool says that it failed. */
export function hasFailed(outcome: Outcome): boolean {
  return outcome.kind === 'error' || (outcome.kind === 'result' && /"isError"\s*:\s*true/.test(outcome.text) && isError(outcome.text));
}

function isError(text: string): boolean {
  return (JSON.parse(text) as { isError?: unknown } | null)?.isError === true;
}

/** An outcome in a word. */
export function wordOf(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'waiting':
      return 'waiting';
    case 'stopped':
      return 'stopped';
    case 'error':
      return `error ${outcome.error.code ?? ''}`.trim();
    case 'result':
      return hasFailed(outcome) ? 'failed' : 'done';
  }
}
