/** What a page sends to prove who calls: a bearer token or an API key. */

import type { Head } from './exchange.js';

export type LoginKind = 'token' | 'key';

export interface Login {
  readonly kind: LoginKind;
  readonly secret: string;
}

/** What the page calls the credential. */
export const KIND_NAMES: Readonly<Record<LoginKind, string>> = { token: 'token', key: 'API key' };

/** The credential in a text that was typed or pasted, or why it has none. */
export function readSecret(typed: string, kind: LoginKind): { readonly secret: string } | { readonly problem: string } {
  const secret = typed.trim().replace(/^(authorization:\s*)?bearer\s+|^x-api-key:\s*/i, '');
  if (secret === '') return { problem: `Enter your ${KIND_NAMES[kind]}.` };
  const odd = /[^\x21-\x7e]/.exec(secret)?.[0];
  if (odd === undefined) return { secret };
  const what = /\s/.test(odd) ? 'a space or a line break' : `the character “${odd}”`;
  return { problem: `The ${KIND_NAMES[kind]} contains ${what}. Copy it again.` };
}

/** The header that carries a login over HTTP. */
export function loginHeader({ kind, secret }: Login): Head {
  return kind === 'token' ? { name: 'Authorization', value: `Bearer ${secret}` } : { name: 'X-API-Key', value: secret };
}

/** The subprotocols that carry a login, since a page cannot set headers of a WebSocket. Tokens and keys travel the same way. */
export function loginProtocols(login: Login | undefined): readonly string[] {
  return login ? ['jsonrpc', `bearer.${login.secret}`] : [];
}

/** The first character of a login that a subprotocol cannot contain (RFC 9110, section 5.6.2). */
export function unfitForSocket(login: Login | undefined): string | undefined {
  return login && /[^!#$%&'*+\-.^_`|~0-9A-Za-z]/.exec(login.secret)?.[0];
}
