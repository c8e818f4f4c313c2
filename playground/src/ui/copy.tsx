/** Copying to the clipboard, and saying so. */

import { signal } from '@preact/signals';
import { spoken } from '../state/spoken.js';
import { CopyIcon } from './icons.js';

/** What is shown for a moment. */
export const toast = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says something for a moment, to eyes and ears. */
export function say(text: string): void {
  toast.value = text;
  spoken.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => (toast.value = ''), 2500);
}

/** Copies a text. Pages that did not come safely have no clipboard; there the old way works. */
export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  say(`${what} copied`);
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  return (
    <button type="button" class="quiet small" aria-label={`Copy ${what.toLowerCase()}`} onClick={() => void copy(text, what)}>
      <CopyIcon /> Copy
    </button>
  );
}
