/** The methods of the endpoint, as it describes them. */

import { computed, signal } from '@preact/signals';
import { type Catalog, readDocument } from '../rpc/document.js';
import { Exchange, type Failure } from '../rpc/exchange.js';
import { urlFor } from '../rpc/endpoint.js';
import { compose } from '../rpc/message.js';
import { post } from '../rpc/post.js';
import { endpoint, headers } from './settings.js';

export type Discovery =
  /** A link leads there, and its reader did not ask for anything yet. */
  | { readonly state: 'unasked' }
  | { readonly state: 'loading' }
  | { readonly state: 'ready'; readonly catalog: Catalog }
  /** The server does not describe itself. */
  | { readonly state: 'silent'; readonly reason: string }
  | { readonly state: 'failed'; readonly failure: Failure };

export const discovery = signal<Discovery>({ state: 'loading' });
export const search = signal('');

export const methods = computed(() => (discovery.value.state === 'ready' ? discovery.value.catalog.methods : []));
export const root = computed(() => (discovery.value.state === 'ready' ? discovery.value.catalog.root : {}));

/** Those that are searched for: every word stands in the name or in what is said of it. */
export const found = computed(() => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  return methods.value.filter((method) => {
    const text = `${method.name} ${method.summary} ${method.tags.join(' ')}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
});

let latest = 0;

/** Asks the endpoint what it serves. */
export async function discover(): Promise<void> {
  const mine = (latest += 1);
  discovery.value = { state: 'loading' };
  const url = urlFor(endpoint.value, 'http');
  const text = compose({ version: '2.0', method: 'rpc.discover', params: '', isNotification: false }, '1');
  const sent = { title: 'rpc.discover', isBroken: false, transport: 'http' as const, url, headers: [], text, bytes: text.length };
  const exchange = new Exchange(sent);
  const named = headers.value.map(({ name, value }) => ({ name, value }));
  await post({ url, headers: [{ name: 'content-type', value: 'application/json' }, ...named], body: text }, exchange);
  // Whoever asked later is answered instead.
  if (mine === latest) discovery.value = read(exchange);
}

function read(exchange: Exchange): Discovery {
  if (exchange.failure) return { state: 'failed', failure: exchange.failure };
  const message = exchange.frames[0]?.message;
  if (message?.kind === 'response' && message.result !== undefined) {
    return { state: 'ready', catalog: readDocument(JSON.parse(message.result)) };
  }
  if (message?.kind === 'response' && message.error) {
    const { code, message: text } = message.error;
    const isUnknown = code === -32601;
    return { state: 'silent', reason: isUnknown ? 'It has no method rpc.discover.' : `rpc.discover failed: ${text} (${code}).` };
  }
  return { state: 'silent', reason: `It answered ${exchange.http?.status ?? ''} without a response object.` };
}
