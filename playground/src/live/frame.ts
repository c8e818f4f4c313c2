/** Redrawing: at most once for each frame of the screen, however fast numbers arrive. */

import { signal } from '@preact/signals';

/** What is drawn from values that are not signals. */
export class Frame {
  private readonly revision = signal(0);
  private isDue = false;

  /** With the time to wait before a redraw, in milliseconds. */
  constructor(private readonly wait = 0) {}

  /** Grows with every redraw. A component that reads it is drawn again. */
  get value(): number {
    return this.revision.value;
  }

  /** Has it drawn again. Nothing is drawn while the page cannot be seen. */
  redraw(before: () => void = () => {}): void {
    if (this.isDue) return;
    this.isDue = true;
    const draw = () =>
      requestAnimationFrame(() => {
        this.isDue = false;
        before();
        this.revision.value += 1;
      });
    if (this.wait === 0) draw();
    else setTimeout(draw, this.wait);
  }
}

/** The numbers. */
export const frame = new Frame();
/** The list of calls: more often than this it could not be read. */
export const callsFrame = new Frame(250);
/** The list of sessions. */
export const sessionsFrame = new Frame();

/** Whether the page can be seen. */
export const isVisible = signal(!document.hidden);
document.addEventListener('visibilitychange', () => (isVisible.value = !document.hidden));
