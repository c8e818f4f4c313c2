/** Where calls go and how: the endpoint, the transport, the version. */

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

/** The URL for the transport that is chosen. */
export const target = computed(() => urlFor(endpoint.value, transport.value));

effect(() => keep('transport', transport.value));
effect(() => keep('version', version.value));
