/** Which endpoints are called through the server of this page. It is asked for, one endpoint at a time, and not kept. */

import { computed, signal } from '@preact/signals';
import { urlFor } from '../rpc/endpoint.js';
import type { Post } from '../rpc/post.js';
import { proxyTargets, throughProxy } from '../rpc/proxy.js';
import { endpoint, transport } from './settings.js';

const offered = signal<string | undefined>(undefined);
const used = signal<ReadonlySet<string>>(new Set());

/** What there is to say about the endpoint. CORS does not apply to WebSocket. */
export const proxy = computed(() => {
  if (transport.value === 'ws') return undefined;
  if (used.value.has(endpoint.value)) return 'used';
  return offered.value === endpoint.value ? 'offered' : undefined;
});

/** Finds out whether the server of this page forwards to the endpoint, which could not be called. */
export async function offerProxy(): Promise<void> {
  const asked = endpoint.value;
  if (used.value.has(asked) || new URL(asked).origin === location.origin) return;
  const targets = await proxyTargets(location.origin);
  if (targets.includes(urlFor(asked, 'http'))) offered.value = asked;
}

export function setProxied(isProxied: boolean): void {
  const others = [...used.value].filter((url) => url !== endpoint.value);
  used.value = new Set(isProxied ? [...others, endpoint.value] : others);
}

/** The request as it is sent: to the endpoint, or through the server of this page. */
export function routed(post: Post): Post {
  return used.value.has(endpoint.value) ? throughProxy(post, location.origin) : post;
}
