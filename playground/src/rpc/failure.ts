/** Why a call did not get through, as far as a browser lets a page know, and what to do about it. */

import type { Failure } from './exchange.js';

/** What is to be known to explain it. */
export interface Attempt {
  readonly url: string;
  /** The origin of this page. */
  readonly origin: string;
  /** Whether a request whose answer nobody may read was answered. Without that it is not known: a server may hide from those, too. */
  readonly isReachable: boolean;
  /** Headers beyond those that every page may send. */
  readonly headers: readonly string[];
}

/** Explains a request that failed without a response. */
export function explain({ url, origin, isReachable, headers }: Attempt): Failure {
  const target = new URL(url);
  if (origin.startsWith('https:') && target.protocol === 'http:' && !isLoopback(target.hostname)) {
    return {
      title: 'A page that came over https may not call http',
      advice: ['Use the https URL of the server, or open the playground over http.'],
    };
  }
  const listen = `See that a server listens at ${target.origin}, and that its name and port are right.`;
  if (target.origin === origin) return { title: 'The server cannot be reached', advice: [listen] };
  const allow = [
    `If it is Switchboard: switchboard serve --allow-origin ${origin} --cors`,
    `Otherwise it must answer with Access-Control-Allow-Origin: ${origin}, and to OPTIONS with Access-Control-Allow-Headers: ${['content-type', ...headers].join(', ')}.`,
    'WebSocket is not bound to CORS and may work as it is.',
  ];
  if (isReachable) {
    const why = `The server answers, but not to pages of ${origin}: browsers call that CORS.`;
    return { title: 'The server does not let this page read its answers', advice: [why, ...allow] };
  }
  const why = `Or it answers, but not to pages of ${origin}: browsers call that CORS, and do not tell a page which of the two it is.`;
  return { title: 'The server cannot be reached, or does not let this page call', advice: [listen, why, ...allow] };
}

/** Explains a WebSocket that did not open. Browsers tell pages nothing about why. */
export function explainSocket(url: string, origin: string): Failure {
  const target = new URL(url);
  const own = new URL(origin);
  const advice = [`See that a server listens at ${target.host} and speaks WebSocket at ${target.pathname}.`];
  if (target.host !== own.host) {
    advice.push(`It may refuse pages of ${origin}. If it is Switchboard: switchboard serve --allow-origin ${origin}`);
  }
  return { title: 'The WebSocket did not open', advice };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}
