/** The connection to the server: whether there is one, and when to try again. */

import { computed, effect, signal } from '@preact/signals';
import type { Info } from './records.js';
import { CallFailure, call } from './wire.js';

export type Phase =
  | { readonly state: 'connecting' }
  | { readonly state: 'live' }
  /** The connection was lost; it is tried again at a time of `performance.now()`. */
  | { readonly state: 'lost'; readonly retryAt: number }
  /** The server stopped on purpose, or has been away for long. It may come back. */
  | { readonly state: 'stopped'; readonly retryAt: number }
  /** A token is needed. */
  | { readonly state: 'locked'; readonly problem: string };

export const phase = signal<Phase>({ state: 'connecting' });
export const isLive = computed(() => phase.value.state === 'live');
export const info = signal<Info | undefined>(undefined);
/** Kept in memory only: a page that is loaded again asks for it again. */
export const token = signal('');
/** Changes when another process answers. */
export const generation = computed(() => `${info.value?.pid} ${info.value?.startedAt}`);

/** How often to ask whether the server drains. */
const INFO_EVERY = 1_000;
/** Failed attempts after which the server is taken to have stopped. */
const STOPPED_AFTER = 4;
const LONGEST_WAIT = 15_000;

let attempts = 0;
let timer: ReturnType<typeof setTimeout> | undefined;

/** How long to wait before an attempt, in milliseconds: twice as long each time, and not the same for every page. */
export function backOff(attempt: number, random = Math.random()): number {
  return Math.min(LONGEST_WAIT, 500 * 2 ** Math.min(attempt, 10)) * (0.75 + random / 2);
}

/** Connects, and again whenever the connection is lost. */
export async function connect(): Promise<void> {
  clearTimeout(timer);
  try {
    info.value = await ask();
    attempts = 0;
    phase.value = { state: 'live' };
  } catch (error) {
    lost(error);
  }
}

/** Connects with this token. */
export function unlock(secret: string): Promise<void> {
  token.value = secret;
  phase.value = { state: 'connecting' };
  return connect();
}

/** Notes that a call failed, or that a stream ended which should not; another attempt follows. */
export function lost(error: unknown): void {
  const fault = error instanceof CallFailure ? error.fault : 'unreachable';
  if (fault === 'locked') {
    phase.value = { state: 'locked', problem: token.value === '' ? '' : 'The server does not accept this token' };
    return;
  }
  if (fault === 'blocked') {
    phase.value = { state: 'locked', problem: 'The server has refused too many tokens from here. Wait a minute, then try again.' };
    return;
  }
  const isStopped = fault === 'stopping' || info.value?.draining === true || phase.value.state === 'stopped' || attempts >= STOPPED_AFTER;
  const wait = backOff(attempts);
  attempts += 1;
  phase.value = { state: isStopped ? 'stopped' : 'lost', retryAt: performance.now() + wait };
  clearTimeout(timer);
  timer = setTimeout(() => void connect(), wait);
}

function ask(): Promise<Info> {
  return call<Info>({ method: 'admin/info', token: token.value, signal: AbortSignal.timeout(5_000) });
}

effect(() => {
  if (!isLive.value) return undefined;
  const polling = setInterval(() => {
    // The stream of numbers notices a lost connection.
    ask().then(
      (news) => (info.value = news),
      () => {},
    );
  }, INFO_EVERY);
  return () => clearInterval(polling);
});

// A computer that wakes up, or a reader who returns, need not wait.
function hurry(): void {
  if (phase.value.state === 'lost' || phase.value.state === 'stopped') void connect();
}
window.addEventListener('online', hurry);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) hurry();
});
