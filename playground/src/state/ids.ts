/** The ids of calls: each one is the next number. */

import { signal } from '@preact/signals';

/** Typed ids above this are not counted on from. */
const HIGHEST = 1_000_000;

/** The id that the next call gets. */
export const nextId = signal(1);

/** The next id, as JSON text. */
export function takeId(): string {
  return String(nextId.value++);
}

/** Goes on after ids that were typed by hand, so that the next call does not repeat one. */
export function skipIds(ids: readonly string[]): void {
  const numbers = ids.filter((id) => /^\d+$/.test(id)).map(Number);
  nextId.value = Math.max(nextId.peek(), ...numbers.filter((id) => id < HIGHEST).map((id) => id + 1));
}
