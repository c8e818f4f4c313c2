/** Everything that went over the wire between the command and the server. */

import { signal } from '@preact/signals';
import type { OnWire } from '../diagram/conversation.js';

export interface WireMessage extends OnWire {
  readonly number: number;
  readonly cut: boolean;
}

/** As many are kept. */
const KEPT = 2000;

/** The last messages, the newest last. */
export const messages = signal<readonly WireMessage[]>([]);
/** How many are not kept, or never came. */
export const lost = signal(0);
let first: number | undefined;

export function lastNumber(): number {
  return messages.value.at(-1)?.number ?? 0;
}

/** Adds messages; those that are known already are left out. */
export function addMessages(more: readonly WireMessage[]): void {
  const last = lastNumber();
  const fresh = more.filter(({ number }) => number > last);
  if (fresh.length === 0) return;
  first ??= fresh[0]!.number;
  const all = [...messages.value, ...fresh].slice(-KEPT);
  messages.value = all;
  lost.value = all.at(-1)!.number - first + 1 - all.length;
}

/** Another connection begins. */
export function forgetMessages(): void {
  messages.value = [];
  lost.value = 0;
  first = undefined;
}
