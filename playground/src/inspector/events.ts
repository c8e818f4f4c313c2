/** What the server says by itself: log messages, and that something has changed. */

import { signal } from '@preact/signals';
import { compact } from '../json/print.js';

export interface ServerEvent {
  readonly at: Date;
  readonly level: string;
  readonly logger: string;
  readonly text: string;
}

/** As many are kept. */
const KEPT = 500;

export const events = signal<readonly ServerEvent[]>([]);
/** How many have not been looked at. */
export const unseen = signal(0);

export function note(event: Omit<ServerEvent, 'at'>): void {
  events.value = [...events.value, { at: new Date(), ...event }].slice(-KEPT);
  unseen.value += 1;
}

export function noteLog({ level, logger, data }: { level: string; logger?: string; data?: unknown }): void {
  note({ level, logger: logger ?? '', text: typeof data === 'string' ? data : compact(JSON.stringify(data ?? null)) });
}

export function noteChange({ kind, uri }: { kind: string; uri?: string }): void {
  const what = kind === 'resource' ? `${uri} has changed` : kind === 'all' ? 'Reconnected' : `The list of ${kind} has changed`;
  note({ level: 'change', logger: '', text: what });
}

export function clearEvents(): void {
  events.value = [];
  unseen.value = 0;
}
