/** What `rpc.whoami` answers with: who calls, as the server sees it. */

import { member } from '../json/node.js';
import { parse } from '../json/parse.js';
import type { Exchange, Failure } from './exchange.js';

export interface Identity {
  readonly subject: string;
  /** How it was proven, in the words of the server. */
  readonly proof: string;
  /** The program that acts for the subject. */
  readonly agent: string | undefined;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly expires: Date | undefined;
}

export type Who =
  /** The server has not answered yet. */
  | { readonly state: 'unknown' }
  | { readonly state: 'known'; readonly identity: Identity }
  /** The server answers calls without credentials, and this is one. */
  | { readonly state: 'anonymous' }
  /** The server has no `rpc.whoami`. */
  | { readonly state: 'silent' }
  /** The server does not accept the credentials, or there are none. */
  | { readonly state: 'refused' }
  /** The server has seen too many wrong credentials. */
  | { readonly state: 'blocked'; readonly seconds: number | undefined }
  | { readonly state: 'failed'; readonly failure: Failure };

/** What the answer to `rpc.whoami` says. */
export function readWho({ failure, frames, http }: Pick<Exchange, 'failure' | 'frames' | 'http'>): Who {
  if (failure) return { state: 'failed', failure };
  const message = frames[0]?.message;
  if (http?.status === 401) return { state: 'refused' };
  const error = message?.kind === 'response' ? message.error : undefined;
  if (http?.status === 429) return { state: 'blocked', seconds: waitOf(error?.data) };
  if (message?.kind !== 'response' || message.result === undefined) return { state: 'silent' };
  if (message.result === 'null') return { state: 'anonymous' };
  const identity = readIdentity(JSON.parse(message.result));
  return identity ? { state: 'known', identity } : { state: 'silent' };
}

/** The identity, if this is one. */
export function readIdentity(value: unknown): Identity | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { subject, proof, agent, roles, scopes, expires } = value as Record<string, unknown>;
  if (typeof subject !== 'string') return undefined;
  return {
    subject,
    proof: typeof proof === 'string' ? proof : '',
    agent: typeof agent === 'string' ? agent : undefined,
    roles: texts(roles),
    scopes: texts(scopes),
    expires: typeof expires === 'number' && Number.isFinite(expires) ? new Date(expires * 1000) : undefined,
  };
}

const PROOFS: Readonly<Record<string, string>> = {
  token: 'token',
  'api-key': 'API key',
  jwt: 'signed token (JWT)',
  certificate: 'client certificate',
  signature: 'signature',
};

/** How a caller was authenticated, in words. */
export function proofName(proof: string): string {
  return PROOFS[proof] ?? proof;
}

/** How many seconds to wait, if the error says so. */
function waitOf(data: string | undefined): number | undefined {
  const wait = data === undefined ? undefined : member(parse(data).node, 'retryAfterMs');
  return wait?.kind === 'number' ? Math.ceil(Number(data!.slice(wait.from, wait.to)) / 1000) : undefined;
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === 'string') : [];
}
