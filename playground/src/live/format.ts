/** Numbers as people read them. Widths vary little, so that columns stay still. */

/** A dash in the place of a number that is not known. */
export const NONE = '–';

/** A number with three digits that count, and a letter for thousands. */
export function compact(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size < 0.01) return '<0.01';
  // A limit that rounding would cross belongs to the next unit.
  if (size < 999.5) return significant(value);
  if (size < 999_500) return `${significant(value / 1e3)}k`;
  if (size < 999_500_000) return `${significant(value / 1e6)}M`;
  return `${significant(value / 1e9)}G`;
}

/** A whole number in full. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

/** A duration in milliseconds. */
export function duration(ms: number | undefined): string {
  if (ms === undefined) return NONE;
  if (ms <= 0) return '0 ms';
  if (ms < 0.9995) return `${significant(ms * 1e3)} µs`;
  if (ms < 999.5) return `${significant(ms)} ms`;
  if (ms < 59_950) return `${significant(ms / 1e3)} s`;
  return age(ms);
}

/** How long something has lasted: two units at most. */
export function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return pair(minutes, 'min', seconds % 60, 's');
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return pair(hours, 'h', minutes % 60, 'min');
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

/** A number of bytes. */
export function bytes(value: number): string {
  if (value < 1023.5) return `${Math.round(value)} B`;
  if (value < 1023.5 * 1024) return `${significant(value / 1024)} KiB`;
  if (value < 1023.5 * 1024 ** 2) return `${significant(value / 1024 ** 2)} MiB`;
  return `${significant(value / 1024 ** 3)} GiB`;
}

/** A part of a whole, in percent. */
export function share(part: number, all: number): string {
  if (all === 0 || part === 0) return '0%';
  const percent = (part / all) * 100;
  if (percent < 0.1) return '<0.1%';
  // Not 100% while something is left.
  if (part < all && percent > 99.9) return '99.9%';
  return `${percent < 99.95 && percent % 1 !== 0 ? percent.toFixed(1) : Math.round(percent)}%`;
}

/** The time of day. */
export function clock(t: number): string {
  return new Date(t).toLocaleTimeString('en-GB');
}

/** The time of day with milliseconds. */
export function preciseClock(t: number): string {
  return `${clock(t)}.${String(Math.floor(t) % 1000).padStart(3, '0')}`;
}

/** A count with its noun. */
export function counted(many: number, noun: string): string {
  return `${whole(many)} ${noun}${many === 1 ? '' : 's'}`;
}

function significant(value: number): string {
  const size = Math.abs(value);
  const digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  const text = value.toFixed(digits);
  return digits === 0 ? text : text.replace(/\.?0+$/, '');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}
