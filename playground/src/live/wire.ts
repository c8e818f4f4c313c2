/** Calls the admin methods, at the address that this page came from. */

import { isEvents, pieces } from '../rpc/body.js';
import { EventReader } from '../rpc/events.js';
import { compose } from '../rpc/message.js';

/** Why a call failed. */
export type Fault =
  /** There was no response, or it was cut off. */
  | 'unreachable'
  /** The server wants a token, or another one. */
  | 'locked'
  /** The server has seen too many wrong tokens. */
  | 'blocked'
  /** The server stops. */
  | 'stopping'
  /** Items of a stream are missing, because they were not read in time. */
  | 'gap'
  /** Any other error of JSON-RPC. */
  | 'error';

export class CallFailure extends Error {
  constructor(
    readonly fault: Fault,
    message: string,
  ) {
    super(message);
  }
}

export interface Outgoing {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** A bearer token, where one is needed. */
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Codes that mean something to this page. */
const FAULTS: Readonly<Record<number, Fault>> = { [-32006]: 'stopping', [-32008]: 'gap' };

/** Calls a method. */
export async function call<T>(outgoing: Outgoing): Promise<T> {
  const response = await send(outgoing, 'application/json');
  let text = '';
  await received(response, (piece) => (text += piece));
  return result(text) as T;
}

/** Reads a stream; returns when it has ended. Gaps are passed over. */
export async function follow<T>(outgoing: Outgoing, take: (item: T) => void): Promise<void> {
  const response = await send(outgoing, 'text/event-stream, application/json;q=0.9');
  if (!isEvents(response)) {
    let text = '';
    await received(response, (piece) => (text += piece));
    result(text);
    return;
  }
  const reader = new EventReader((data) => {
    if (data === '[DONE]') return;
    const item = itemOf<T>(data);
    if (item !== undefined) take(item);
  });
  await received(response, (piece) => reader.push(piece));
}

async function send({ method, params, token, signal }: Outgoing, accept: string): Promise<Response> {
  const body = compose({ version: '2.0', method, params: params ? JSON.stringify(params) : '', isNotification: false }, '1');
  const headers = { 'content-type': 'application/json', accept, ...(token ? { authorization: `Bearer ${token}` } : {}) };
  const url = location.origin + location.pathname;
  let response: Response;
  try {
    const options = { credentials: 'same-origin', cache: 'no-store', redirect: 'error' } as const;
    response = await fetch(url, { method: 'POST', headers, body, signal, ...options });
  } catch (error) {
    throw new CallFailure('unreachable', String(error));
  }
  if (response.status === 401) throw new CallFailure('locked', 'The server requires a token');
  if (response.status === 429) throw new CallFailure('blocked', 'The server has refused too many tokens');
  return response;
}

async function received(response: Response, give: (piece: string) => void): Promise<void> {
  try {
    await pieces(response, give);
  } catch (error) {
    throw error instanceof CallFailure ? error : new CallFailure('unreachable', String(error));
  }
}

/** An item of a stream; undefined where some are missing. */
function itemOf<T>(data: string): T | undefined {
  try {
    return result(data) as T;
  } catch (error) {
    if (error instanceof CallFailure && error.fault === 'gap') return undefined;
    throw error;
  }
}

function result(text: string): unknown {
  let message: { result?: unknown; error?: { code?: number; message?: string; data?: { details?: string } } };
  try {
    message = JSON.parse(text) as typeof message;
  } catch {
    throw new CallFailure('unreachable', 'The response is not JSON');
  }
  const { error } = message;
  if (!error) return message.result;
  const said = error.data?.details ?? error.message ?? 'The call failed';
  throw new CallFailure(FAULTS[error.code ?? 0] ?? 'error', said);
}
