/** What the browser keeps for this page. Where it keeps nothing, everything works but is forgotten. */

const PREFIX = 'switchboard.';

/** What was kept under a name, if it still has the form that is expected. */
export function recall<T>(name: string, read: (value: unknown) => T | undefined): T | undefined {
  try {
    const text = localStorage.getItem(PREFIX + name);
    return text === null ? undefined : read(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Keeps a value; undefined forgets it. */
export function keep(name: string, value: unknown): void {
  try {
    if (value === undefined) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full, or not allowed: then it is not kept.
  }
}

/** A reader for one of these words. */
export function oneOf<T extends string>(words: readonly T[]): (value: unknown) => T | undefined {
  return (value) => words.find((word) => word === value);
}
