/** A call as a link. Everything but its headers is in the fragment, which browsers do not send to servers. */

import type { Transport } from './rpc/endpoint.js';
import type { Version } from './rpc/message.js';

/** The contents of a link. */
export interface Shared {
  /** The endpoint; without one, the server of the page. */
  readonly endpoint: string | undefined;
  readonly transport: Transport;
  readonly version: Version;
  readonly method: string;
  readonly params: string;
  readonly isNotification: boolean;
}

/** Longer links are not read. */
const LONGEST = 64 << 10;

/** The fragment of a link. */
export function toFragment(shared: Shared): string {
  const compact = {
    ...(shared.endpoint === undefined ? {} : { e: shared.endpoint }),
    t: shared.transport,
    v: shared.version,
    m: shared.method,
    p: shared.params,
    ...(shared.isNotification ? { n: 1 } : {}),
  };
  const bytes = new TextEncoder().encode(JSON.stringify(compact));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return `#call=${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
}

/** The contents of a fragment, if it is one of ours. */
export function fromFragment(fragment: string): Shared | undefined {
  const found = /^#call=([\w-]+)$/.exec(fragment.slice(0, LONGEST));
  if (!found?.[1]) return undefined;
  try {
    const binary = atob(found[1].replaceAll('-', '+').replaceAll('_', '/'));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    return readShared(value);
  } catch {
    return undefined;
  }
}

function readShared(value: unknown): Shared | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { e, t, v, m, p, n } = value as Record<string, unknown>;
  if (typeof m !== 'string' || typeof p !== 'string') return undefined;
  return {
    endpoint: typeof e === 'string' ? e : undefined,
    transport: t === 'sse' || t === 'ws' ? t : 'http',
    version: v === '1.0' ? '1.0' : '2.0',
    method: m,
    params: p,
    isNotification: n === 1,
  };
}
