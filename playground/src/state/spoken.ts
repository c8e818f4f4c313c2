/** What a screen reader says. */

import { signal } from '@preact/signals';

export const spoken = signal('');
