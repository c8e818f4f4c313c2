/** What is sent along to an endpoint to be let in: a login and headers. Secrets never leave this tab, except in requests to their endpoint. */

import { computed, effect, signal } from '@preact/signals';
import { urlFor } from '../rpc/endpoint.js';
import { type Login, loginHeader } from '../rpc/login.js';
import { endpoint } from './settings.js';
import { keep, keepInTab, recallInTab } from './store.js';

export interface Header {
  readonly name: string;
  readonly value: string;
  /** It is not shown or shared. */
  readonly isSecret: boolean;
}

interface Access {
  readonly login: Login | undefined;
  readonly headers: readonly Header[];
}

const NONE: Access = { login: undefined, headers: [] };

/** By endpoint, so that a token never goes to another server than it was typed for. */
const accesses = signal<Readonly<Record<string, Access>>>(recallInTab('access', readAccesses) ?? {});
/** Whether logins and headers are kept when the page reloads. */
export const remembers = signal(recallInTab('access', readAccesses) !== undefined);

const place = computed(() => urlFor(endpoint.value, 'http'));
const access = computed(() => accesses.value[place.value] ?? NONE);

/** The login at the endpoint. */
export const login = computed(() => access.value.login);
/** The headers that were set by hand for the endpoint. */
export const ownHeaders = computed(() => access.value.headers);

export function setLogin(login: Login | undefined): void {
  accesses.value = { ...accesses.value, [place.value]: { ...access.value, login } };
}

export function setOwnHeaders(headers: readonly Header[]): void {
  accesses.value = { ...accesses.value, [place.value]: { ...access.value, headers } };
}

/** All headers that go to the endpoint. The login takes the place of a header with the same name. */
export const headers = computed(() => headersWith(login.value));

/** The same, with another login. */
export function headersWith(login: Login | undefined): readonly Header[] {
  const named = ownHeaders.value.filter((header) => header.name.trim() !== '');
  if (!login) return named;
  const ours = { ...loginHeader(login), isSecret: true };
  return [ours, ...named.filter(({ name }) => name.trim().toLowerCase() !== ours.name.toLowerCase())];
}

/** Whether a header of this name holds what others must not see. */
export function looksSecret(name: string): boolean {
  return /auth|token|key|secret|cookie|session|password/i.test(name);
}

// Where other tabs can read it, nothing secret is kept.
keep('access', undefined);
effect(() => keepInTab('access', remembers.value ? accesses.value : undefined));

function readAccesses(value: unknown): Readonly<Record<string, Access>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value as Record<string, unknown>).map(([url, access]): [string, Access] => {
    const { login, headers } = (access ?? {}) as { login?: unknown; headers?: unknown };
    const named = (Array.isArray(headers) ? headers : []).map((header: Record<string, unknown>) => ({
      name: String(header?.name ?? ''),
      value: String(header?.value ?? ''),
      isSecret: header?.isSecret === true,
    }));
    return [url, { login: readLogin(login), headers: named }];
  });
  return Object.fromEntries(entries);
}

function readLogin(value: unknown): Login | undefined {
  const { kind, secret } = (value ?? {}) as { kind?: unknown; secret?: unknown };
  if ((kind !== 'token' && kind !== 'key') || typeof secret !== 'string') return undefined;
  return { kind, secret };
}
