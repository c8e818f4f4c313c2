/** Which of the three panes a small screen shows. */

import { signal } from '@preact/signals';

export type Pane = 'source' | 'request' | 'answer';
export const pane = signal<Pane>('source');

/** Shows a pane, where only one fits. */
export function showPane(next: Pane): void {
  pane.value = next;
}
