/** Redrawing: at most once for each frame of the screen, however fast numbers arrive. */

import { signal } from '@preact/signals';

/** Grows with every redraw. What is drawn from values that are not signals reads it. */
export const frame = signal(0);
let isDue = false;

/** Has everything that depends on `frame` drawn again. Nothing is drawn while the page cannot be seen. */
export function redraw(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    frame.value += 1;
  });
}

/** Whether the page can be seen. */
export const isVisible = signal(!document.hidden);
document.addEventListener('visibilitychange', () => (isVisible.value = !document.hidden));
