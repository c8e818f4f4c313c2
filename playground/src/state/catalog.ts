/** The methods of the endpoint, as it describes them. */

import { computed, signal } from '@preact/signals';
import { type Catalog, readDocument } from '../rpc/document.js';
import { Exchange, type Failure } from '../rpc/exchange.js';
import { urlFor } from '../rpc/endpoint.js';
import { nothingAt } from '../rpc/failure.js';
import { compose } from '../rpc/message.js';
import { post } from '../rpc/post.js';
import { headers } from './access.js';
import { offerProxy, routed } from './proxy.js';
import { endpoint } from './settings.js';

export type Discovery =
  /** A link leads there, and its reader has not sent anything yet. */
  | { readonly state: 'unasked' }
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly catalog: Catalog }
  /** The server answers JSON-RPC, and does not list its methods. */
  | { readonly state: 'silent'; readonly reason: string }
  /** The server answers callers with credentials only. */
  | { readonly state: 'locked' }
  | { readonly state: 'failed'; readonly failure: Failure };

export const discovery = signal<Discovery>({ state: 'loading' });
export const search = signal('');

export const methods = computed(() => (discovery.value.state === 'ready' ? discovery.value.catalog.methods : []));
export const root = computed(() => (discovery.value.state === 'ready' ? discovery.value.catalog.root : {}));

/** The methods that match the search: each word is in the name, the summary or a tag. */
export const found = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return methods.value.filter((method) => {
    const text = `${method.name} ${method.summary} ${method.tags.join(' ')}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

let latest = 0;

/** Asks the endpoint for its methods. */
export async function discover(): Promise<void> {
  const mine = (latest += 1);
  discovery.value = { state: 'loading' };
  const url = urlFor(endpoint.value, 'http');
  const text = compose({ version: '2.0', method: 'rpc.discover', params: '', isNotification: false }, '1');
  const sent = { title: 'rpc.discover', isBroken: false, transport: 'http' as const, url, headers: [], text, bytes: text.length };
  const exchange = new Exchange(sent);
  const named = headers.value.map(({ name, value }) => ({ name: name.trim(), value }));
  await post(routed({ url, headers: [{ name: 'content-type', value: 'application/json' }, ...named], body: text }), exchange);
  // A later question replaces this one.
  if (mine !== latest) return;
  discovery.value = read(exchange);
  if (exchange.failure && !exchange.http) await offerProxy();
}

function read(exchange: Exchange): Discovery {
  if (exchange.failure) return { state: 'failed', failure: exchange.failure };
  const message = exchange.frames[0]?.message;
  const status = exchange.http?.status;
  if (message?.kind === 'response' && message.result !== undefined) {
    return { state: 'ready', catalog: readDocument(JSON.parse(message.result)) };
  }
  const error = message?.kind === 'response' ? message.error : undefined;
  if (status === 401) return { state: 'locked' };
  if (error?.code === -32601) return { state: 'silent', reason: 'It has no method rpc.discover.' };
  if (status === 404) return { state: 'failed', failure: nothingAt(exchange.sent.url) };
  if (error) return { state: 'silent', reason: `rpc.discover failed: ${error.message} (${error.code ?? 'no code'}).` };
  const title = `${exchange.sent.url} does not answer JSON-RPC`;
  return { state: 'failed', failure: { title, advice: [`It answered rpc.discover with HTTP ${status}, without a response object.`] } };
}
