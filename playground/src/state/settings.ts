/** Where calls go and how: the endpoint, its headers, the transport, the version; and how the page looks. */

import { computed, effect, signal } from '@preact/signals';
import type { Transport } from '../rpc/endpoint.js';
import { urlFor } from '../rpc/endpoint.js';
import type { Version } from '../rpc/message.js';
import { keep, oneOf, recall } from './store.js';

/** The server that this page came from. */
export const OWN = location.origin + location.pathname;

export const endpoint = signal(OWN);
/** Why the endpoint that was typed cannot be used. Until it is corrected nothing is sent: calls would go elsewhere than the page shows. */
export const endpointProblem = signal('');
export const transport = signal<Transport>(recall('transport', oneOf(['http', 'sse', 'ws'])) ?? 'http');
export const version = signal<Version>(recall('version', oneOf(['2.0', '1.0'])) ?? '2.0');

export type Theme = 'auto' | 'light' | 'dark';
export const theme = signal<Theme>(recall('theme', oneOf(['auto', 'light', 'dark'])) ?? 'auto');

/** The URL for the transport that is chosen. */
export const target = computed(() => urlFor(endpoint.value, transport.value));

export interface Header {
  readonly name: string;
  readonly value: string;
  /** It is not shown or shared, and kept only if the user wants that. */
  readonly isSecret: boolean;
}

/** What is sent along to one endpoint. */
export interface Access {
  readonly token: string;
  readonly headers: readonly Header[];
}

const NONE: Access = { token: '', headers: [] };

/** By endpoint, so that a token never goes to another server than it was typed for. */
const accesses = signal<Readonly<Record<string, Access>>>(recall('access', readAccesses) ?? {});
/** Whether tokens and headers are kept in this browser. */
export const remembers = signal(recall('access', readAccesses) !== undefined);

export const access = computed(() => accesses.value[endpoint.value] ?? NONE);

export function setAccess(access: Access): void {
  accesses.value = { ...accesses.value, [endpoint.value]: access };
}

/** All headers that go to the endpoint, the token's among them. */
export const headers = computed<readonly Header[]>(() => {
  const { token, headers } = access.value;
  const named = headers.filter((header) => header.name.trim() !== '');
  return token === '' ? named : [{ name: 'Authorization', value: `Bearer ${token}`, isSecret: true }, ...named];
});

/** Whether a header of this name holds what others must not see. */
export function looksSecret(name: string): boolean {
  return /auth|token|key|secret|cookie|session|password/i.test(name);
}

effect(() => keep('transport', transport.value));
effect(() => keep('version', version.value));
effect(() => keep('theme', theme.value));
effect(() => keep('access', remembers.value ? accesses.value : undefined));
effect(() => {
  if (theme.value === 'auto') document.documentElement.removeAttribute('data-theme');
  else document.documentElement.dataset.theme = theme.value;
});

function readAccesses(value: unknown): Readonly<Record<string, Access>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value as Record<string, unknown>).map(([url, access]): [string, Access] => {
    const { token, headers } = (access ?? {}) as { token?: unknown; headers?: unknown };
    const named = (Array.isArray(headers) ? headers : []).map((header: Record<string, unknown>) => ({
      name: String(header?.name ?? ''),
      value: String(header?.value ?? ''),
      isSecret: header?.isSecret === true,
    }));
    return [url, { token: typeof token === 'string' ? token : '', headers: named }];
  });
  return Object.fromEntries(entries);
}
