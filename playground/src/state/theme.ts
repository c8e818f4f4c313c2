/** How the page looks. */

import { effect, signal } from '@preact/signals';
import { keep, oneOf, recall } from './store.js';

export type Theme = 'auto' | 'light' | 'dark';
export const theme = signal<Theme>(recall('theme', oneOf(['auto', 'light', 'dark'])) ?? 'auto');

effect(() => keep('theme', theme.value));
effect(() => {
  if (theme.value === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = theme.value;
});
