/** What the browser keeps for this page. Where it keeps nothing, everything works but is forgotten. */

const PREFIX = 'switchboard.';

/** What was kept under a name, if it still has the form that is expected. */
export function recall<T>(name: string, read: (value: unknown) => T | undefined): T | undefined {
  return recallFrom(() => localStorage, name, read);
}

/** Keeps a value; undefined forgets it. */
export function keep(name: string, value: unknown): void {
  keepAt(() => localStorage, name, value);
}

/** The same, of what is kept until the tab is closed. */
export function recallInTab<T>(name: string, read: (value: unknown) => T | undefined): T | undefined {
  return recallFrom(() => sessionStorage, name, read);
}

/** Keeps a value until the tab is closed; undefined forgets it. */
export function keepInTab(name: string, value: unknown): void {
  keepAt(() => sessionStorage, name, value);
}

// Reading the property alone may fail, where a browser allows no storage.
function recallFrom<T>(storage: () => Storage, name: string, read: (value: unknown) => T | undefined): T | undefined {
  try {
    const text = storage().getItem(PREFIX + name);
    return text === null ? undefined : read(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function keepAt(storage: () => Storage, name: string, value: unknown): void {
  try {
    if (value === undefined) storage().removeItem(PREFIX + name);
    else storage().setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // Full, or not allowed: then it is not kept.
  }
}

/** A reader for one of these words. */
export function oneOf<T extends string>(words: readonly T[]): (value: unknown) => T | undefined {
  return (value) => words.find((word) => word === value);
}
