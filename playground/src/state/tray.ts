/** Calls that are collected to be sent as one batch. */

import { signal } from '@preact/signals';
import type { Intent } from '../rpc/message.js';

export interface Entry {
  readonly key: number;
  readonly intent: Intent;
}

/** As many as a batch may have on our own server. */
export const MOST = 100;

export const tray = signal<readonly Entry[]>([]);

let count = 0;

export function addToTray(intent: Intent): void {
  if (tray.value.length < MOST) tray.value = [...tray.value, { key: (count += 1), intent }];
}

/** Replaces what is in it. */
export function fillTray(intents: readonly Intent[]): void {
  tray.value = intents.slice(0, MOST).map((intent) => ({ key: (count += 1), intent }));
}

export function removeFromTray(key: number): void {
  tray.value = tray.value.filter((entry) => entry.key !== key);
}

export function clearTray(): void {
  tray.value = [];
}
