/** Resources whose changes the server reports. */

import { signal } from '@preact/signals';
import { say } from '../ui/copy.js';
import { CallFailed } from './link.js';
import { call } from './session.js';

const watched = signal<readonly string[]>([]);

export function isWatched(uri: string): boolean {
  return watched.value.includes(uri);
}

/** Watches a resource, or does not any more. */
export async function watch(uri: string, isOn: boolean): Promise<void> {
  const before = watched.value;
  watched.value = isOn ? [...before, uri] : before.filter((other) => other !== uri);
  try {
    await call('inspect/watch', { uris: watched.value });
  } catch (error) {
    watched.value = before;
    say(error instanceof CallFailed ? error.message : String(error));
  }
}

export function watchNothing(): void {
  watched.value = [];
}
