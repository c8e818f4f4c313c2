/** Finds out more about a server that a request did not get through to. */

import { urlFor } from './endpoint.js';
import type { Head } from './exchange.js';
import type { Probe } from './failure.js';
import { compose } from './message.js';

/** How long each question may take. */
const PATIENCE = 5000;

/** Servers answer other requests without the headers that let a page read. */
const DISCOVER = compose({ version: '2.0', method: 'rpc.discover', params: '', isNotification: false }, '1');

/** What answers at a URL of any scheme to a request with these headers, as far as a page can see. */
export async function probe(url: string, heads: readonly Head[] = []): Promise<Probe> {
  const here = urlFor(url, 'http');
  const { origin, pathname } = new URL(here);
  const status = await statusOf(here, heads);
  if (status === 404) return 'another path';
  if (status === 401) return 'a locked server';
  if (status !== undefined) return 'a server';
  // A server that allows this page may still hide that it has nothing at a path.
  if (pathname !== '/' && (await statusOf(`${origin}/`, heads)) !== undefined) return 'another path';
  return (await answers(here)) ? 'a server' : 'nothing';
}

/** The status of a response, if this page may see it. */
async function statusOf(url: string, heads: readonly Head[]): Promise<number | undefined> {
  try {
    const headers: [string, string][] = [['content-type', 'application/json'], ...heads.map(({ name, value }): [string, string] => [name, value])];
    return (await ask(url, { method: 'POST', headers, body: DISCOVER })).status;
  } catch {
    return undefined;
  }
}

/** Whether a server answers. The answer itself is hidden from the page, and so is the reason if there is none. */
async function answers(url: string): Promise<boolean> {
  try {
    await ask(url, { mode: 'no-cors' });
    return true;
  } catch {
    return false;
  }
}

function ask(url: string, options: RequestInit): Promise<Response> {
  return fetch(url, { ...options, credentials: 'same-origin', cache: 'no-store', signal: AbortSignal.timeout(PATIENCE) });
}
