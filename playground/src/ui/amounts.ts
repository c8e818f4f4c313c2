/** Numbers as they are shown. */

/** A time in milliseconds or seconds. */
export function time(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

/** A number of bytes. */
export function amount(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1 << 20 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / (1 << 20)).toFixed(1)} MiB`;
}
