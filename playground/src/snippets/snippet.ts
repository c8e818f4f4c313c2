/** A request as a program. Values of secret headers are read from the environment, never written down. */

import type { Transport } from '../rpc/endpoint.js';
import type { Version } from '../rpc/message.js';
import { command } from './command.js';
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
  /** The calls in it; several are a batch, and none is a text that is sent as it is. */
  readonly calls: readonly PlanCall[];
}

export interface PlanHeader {
  readonly name: string;
  readonly value: string;
  /** The environment variable that holds the value, if that is secret, and the text before it. */
  readonly secret: { readonly variable: string; readonly prefix: string } | undefined;
}

export interface PlanCall {
  readonly method: string;
  readonly params: string;
  readonly isNotification: boolean;
  readonly isStream: boolean;
  /** It makes the server push, on a connection that stays open. */
  readonly pushes: boolean;
}

export const LANGUAGES = [
  { value: 'switchboard', label: 'switchboard', write: command },
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

/** Why a tool without WebSocket calls over HTTP instead, as comment lines; empty where nothing is lost or changed. */
export function withoutSocket(plan: Plan, tool: string): string {
  if (plan.transport !== 'ws') return '';
  const lines = [`# ${tool} cannot send WebSocket messages, so this calls the same address over HTTP.`];
  if (plan.calls.some((call) => call.pushes)) {
    lines.push('# Over HTTP, the server can only push until it has answered. To keep receiving, use switchboard, JavaScript or Rust.');
  } else if (plan.calls.some((call) => call.isStream)) {
    lines.push('# The items of the stream arrive as server-sent events.');
  }
  return `${lines.join('\n')}\n`;
}

/** Whether the answer is read as an event stream: as chosen, or because a WebSocket would have brought more than one message. */
export function readsEvents(plan: Plan): boolean {
  return plan.transport === 'sse' || (plan.transport === 'ws' && plan.calls.some((call) => call.isStream || call.pushes));
}

/** The word as a shell takes it, whatever is in it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A header as an option of curl and of our own command. */
export function headerOption({ name, value, secret }: PlanHeader): string {
  if (!secret) return `-H ${shellWord(`${name}: ${value}`)}`;
  return `-H "${`${name}: ${secret.prefix}`.replaceAll(/["\\$`]/g, '\\$&')}$${secret.variable}"`;
}

/** The environment variable for a header: `X-Api-Key` is read from `X_API_KEY`. */
export function secretOf(name: string, value: string): { variable: string; prefix: string } {
  if (name.toLowerCase() === 'authorization') {
    const scheme = /^(\w+) /.exec(value)?.[0] ?? '';
    return { variable: 'TOKEN', prefix: scheme };
  }
  return { variable: name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_'), prefix: '' };
}
