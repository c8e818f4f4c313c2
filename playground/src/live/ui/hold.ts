/** Lists that stand still while the reader points at them, or has the focus in them. */

import { signal } from '@preact/signals';

/** Whether a list is held, and what its element needs for that. */
export function hold() {
  const isPointed = signal(false);
  const isFocused = signal(false);
  return {
    isHeld: () => isPointed.value || isFocused.value,
    events: {
      onPointerEnter: (event: PointerEvent) => (isPointed.value = event.pointerType === 'mouse'),
      onPointerLeave: () => (isPointed.value = false),
      // A click alone does not hold: the reader may have gone elsewhere.
      onFocusIn: (event: FocusEvent) => (isFocused.value = (event.target as HTMLElement).matches(':focus-visible')),
      onFocusOut: () => (isFocused.value = false),
    },
  };
}
