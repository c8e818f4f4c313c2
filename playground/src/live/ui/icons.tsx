/** Icons of this page alone. Each has a text that says the same. */

export const PauseIcon = () => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d="M5.5 4v8m5-8v8" />
  </svg>
);
export const PlayIcon = () => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d="M5.5 3.5v9l7-4.5Z" />
  </svg>
);
