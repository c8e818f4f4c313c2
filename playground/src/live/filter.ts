/** Which calls are listed. */

/** A filter as it is typed. Empty fields allow everything. */
export interface Filter {
  readonly method: string;
  readonly who: string;
  readonly outcome: string;
  readonly slowerThan: string;
}

export const EVERYTHING: Filter = { method: '', who: '', outcome: '', slowerThan: '' };

/** How calls end, with the words that the page has for it. */
export const OUTCOMES: readonly { readonly value: string; readonly label: string }[] = [
  { value: '', label: 'Any' },
  { value: 'failed', label: 'Failed' },
  { value: 'ok', label: 'OK' },
  { value: 'error', label: 'Error' },
  { value: 'timed-out', label: 'Timed out' },
  { value: 'cancelled', label: 'Cancelled' },
  { value: 'panicked', label: 'Panicked' },
  { value: 'too-large', label: 'Too large' },
  { value: 'abandoned', label: 'Abandoned' },
  { value: 'refused', label: 'Refused' },
];

/** The params of `admin/calls`, or what is wrong with a field. */
export type Reading =
  | { readonly params: Readonly<Record<string, unknown>> }
  | { readonly field: 'method' | 'slowerThan'; readonly problem: string };

/** Reads a filter. */
export function readFilter({ method, who, outcome, slowerThan }: Filter): Reading {
  const params: Record<string, unknown> = {};
  const methods = method.split(/[\s,]+/).filter((pattern) => pattern !== '');
  const isWrong = methods.some((pattern) => pattern.split('/').some((segment) => segment.includes('**') && segment !== '**'));
  if (isWrong) return { field: 'method', problem: '** stands for whole segments, as in math/**' };
  if (methods.length > 0) params.methods = methods;
  if (who.trim() !== '') params.who = who.trim();
  if (outcome !== '') params.outcome = outcome;
  const limit = slowerThan.trim();
  if (limit !== '') {
    const ms = milliseconds(limit);
    if (ms === undefined) return { field: 'slowerThan', problem: 'Use a duration such as 100ms or 2s' };
    params.slower_than = `${ms}ms`;
  }
  return { params };
}

/** A typed duration in milliseconds, above 0. A bare number is milliseconds. */
export function milliseconds(text: string): number | undefined {
  const read = /^(\d+(?:\.\d+)?)\s*(ms|s|m)?$/.exec(text);
  if (!read) return undefined;
  const factor = { ms: 1, s: 1_000, m: 60_000 }[read[2] ?? 'ms'] ?? 1;
  return Number(read[1]) * factor || undefined;
}
