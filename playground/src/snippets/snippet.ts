/** A call as a program in four languages. Values of secret headers are read from the environment, never written. */

import type { Transport } from '../rpc/endpoint.js';
import type { Version } from '../rpc/message.js';
import { curl } from './curl.js';
import { javascript } from './javascript.js';
import { python } from './python.js';
import { rust } from './rust.js';

/** What a snippet does. */
export interface Plan {
  /** For the transport: http and https for HTTP and events, ws and wss for WebSocket. */
  readonly url: string;
  readonly transport: Transport;
  readonly headers: readonly PlanHeader[];
  /** The whole message. */
  readonly body: string;
  readonly version: Version;
  /** The calls in it; several are a batch. */
  readonly calls: readonly PlanCall[];
}

export interface PlanHeader {
  readonly name: string;
  readonly value: string;
  /** The variable of the environment that holds the value, if that is secret; and what stands before it. */
  readonly secret: { readonly variable: string; readonly prefix: string } | undefined;
}

export interface PlanCall {
  readonly method: string;
  readonly params: string;
  readonly isNotification: boolean;
  readonly isStream: boolean;
}

export const LANGUAGES = [
  { value: 'curl', label: 'curl', write: curl },
  { value: 'python', label: 'Python', write: python },
  { value: 'javascript', label: 'JavaScript', write: javascript },
  { value: 'rust', label: 'Rust', write: rust },
] as const;

export type Language = (typeof LANGUAGES)[number]['value'];

/** The http URL of a plan; WebSocket and HTTP share their port. */
export function httpUrl(plan: Plan): string {
  return plan.url.replace(/^ws/, 'http');
}

/** The variable of the environment for a header: `X-Api-Key` is read from `X_API_KEY`. */
export function secretOf(name: string, value: string): { variable: string; prefix: string } {
  if (name.toLowerCase() === 'authorization') {
    const scheme = /^(\w+) /.exec(value)?.[0] ?? '';
    return { variable: 'TOKEN', prefix: scheme };
  }
  return { variable: name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_'), prefix: '' };
}
