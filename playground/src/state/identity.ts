/** Who calls the endpoint, as it says itself; logging in and out. */

import { signal } from '@preact/signals';
import { urlFor } from '../rpc/endpoint.js';
import { Exchange } from '../rpc/exchange.js';
import { type Who, readWho } from '../rpc/identity.js';
import { KIND_NAMES, type Login, type LoginKind, readSecret } from '../rpc/login.js';
import { compose } from '../rpc/message.js';
import { post } from '../rpc/post.js';
import { headersWith, login, setLogin } from './access.js';
import { discover, discovery } from './catalog.js';
import { routed } from './proxy.js';
import { endpoint, transport } from './settings.js';

export const who = signal<Who>({ state: 'unknown' });

let latest = 0;

/** Asks the endpoint for the methods that it lists for this caller, and who that is, unless it has said so. */
export async function refresh(told: Who = { state: 'unknown' }): Promise<void> {
  const mine = (latest += 1);
  who.value = told;
  await discover();
  if (mine !== latest || told.state !== 'unknown') return;
  const { state } = discovery.value;
  // Without credentials there is nothing else to learn; and what cannot be reached is not asked twice.
  if (state === 'locked') who.value = { state: 'refused' };
  if (state !== 'ready' && state !== 'silent') return;
  const found = await ask(login.value);
  if (mine === latest) who.value = found;
}

/** Logs in at the endpoint if it accepts the credential; otherwise says why not. */
export async function logIn(kind: LoginKind, typed: string): Promise<string | undefined> {
  const read = readSecret(typed, kind);
  if ('problem' in read) return read.problem;
  const candidate: Login = { kind, secret: read.secret };
  const asked = endpoint.value;
  const found = await ask(candidate);
  if (endpoint.value !== asked) return undefined;
  const problem = problemOf(found, kind);
  // CORS does not apply to WebSocket: a server that cannot be asked over HTTP may still accept it there.
  const isUnasked = found.state === 'failed' && transport.value === 'ws';
  if (problem !== undefined && !isUnasked) return problem;
  setLogin(candidate);
  await refresh(found);
  return undefined;
}

export function logOut(): Promise<void> {
  setLogin(undefined);
  return refresh();
}

/** Notes that the server did not accept the login of a call. */
export function noteRefusal(): void {
  if (login.value) who.value = { state: 'refused' };
}

/** Why this answer does not let the caller log in. A server without `rpc.whoami` cannot say, and may still accept the credential. */
function problemOf(found: Who, kind: LoginKind): string | undefined {
  switch (found.state) {
    case 'refused': {
      const problem = `The server does not accept this ${KIND_NAMES[kind]}. It may be mistyped, expired or revoked.`;
      return kind === 'key' ? `${problem} If it is a token, choose “Token” above.` : problem;
    }
    case 'blocked':
      return `The server has received too many wrong credentials. Try again ${found.seconds === undefined ? 'later' : `in ${found.seconds} s`}.`;
    case 'anonymous':
      return `The server ignores this ${KIND_NAMES[kind]}: it answers as if none was sent.`;
    case 'failed':
      return `${found.failure.title}.`;
    default:
      return undefined;
  }
}

async function ask(candidate: Login | undefined): Promise<Who> {
  const url = urlFor(endpoint.value, 'http');
  const text = compose({ version: '2.0', method: 'rpc.whoami', params: '', isNotification: false }, '1');
  const exchange = new Exchange({
    title: 'rpc.whoami',
    isBroken: false,
    transport: 'http',
    url,
    headers: [],
    text,
    bytes: text.length,
  });
  const named = headersWith(candidate).map(({ name, value }) => ({ name: name.trim(), value }));
  await post(routed({ url, headers: [{ name: 'content-type', value: 'application/json' }, ...named], body: text }), exchange);
  return readWho(exchange);
}
