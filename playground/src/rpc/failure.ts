/** Why a request did not get through, as far as a browser tells a page, and what to do about it. */

import type { Failure } from './exchange.js';

/** What is known about a request that failed without a response. */
export interface Attempt {
  readonly url: string;
  /** The origin of this page. */
  readonly origin: string;
  /**
   * What other requests found: nothing; a server, which may hide its answers from this page; a server that requires
   * credentials; or a server that this page may call at another path.
   */
  readonly probe: Probe;
  /** Headers beyond those that every page may send. */
  readonly headers: readonly string[];
}

export type Probe = 'nothing' | 'a server' | 'a locked server' | 'another path';

/** Explains a request that failed without a response. */
export function explain({ url, origin, probe, headers }: Attempt): Failure {
  const target = new URL(url);
  if (origin.startsWith('https:') && target.protocol === 'http:' && !isLoopback(target.hostname)) {
    return {
      title: 'A page loaded over https cannot call http',
      advice: ['Use the https URL of the server, or open the playground over http.'],
    };
  }
  if (probe === 'another path') return nothingAt(url);
  const listen = `Check that a server listens at ${target.origin}, and that the host and port are correct.`;
  if (target.origin === origin) return { title: 'The server cannot be reached', advice: [listen] };
  const allow = [
    `If it is a Switchboard server, start it with: switchboard serve --allow-origin ${origin} --cors`,
    `Any other server must send Access-Control-Allow-Origin: ${origin}, and answer OPTIONS with Access-Control-Allow-Headers: ${['content-type', ...headers].join(', ')}.`,
    'CORS does not apply to WebSocket, so WebSocket may work without changes.',
  ];
  if (probe === 'a server') {
    const why = `The server answers, but does not allow pages from ${origin} to read its answers (CORS).`;
    return { title: 'The server does not allow this page to read its answers', advice: [why, ...allow] };
  }
  const why = `Or it answers, but does not allow pages from ${origin} to call it (CORS). Browsers do not tell a page which of the two it is.`;
  return { title: 'The server cannot be reached, or does not allow this page to call it', advice: [listen, why, ...allow] };
}

/** What is known about a WebSocket that did not open. */
export interface SocketAttempt {
  readonly url: string;
  /** The origin of this page. */
  readonly origin: string;
  readonly probe: Probe;
  readonly isLoggedIn: boolean;
}

/** Explains a WebSocket that did not open. Browsers do not tell a page why. */
export function explainSocket({ url, origin, probe, isLoggedIn }: SocketAttempt): Failure {
  if (probe === 'another path') return nothingAt(url);
  if (probe === 'a locked server') {
    const title = isLoggedIn ? 'The server does not accept your login' : 'The server requires credentials';
    const why = isLoggedIn ? 'It may have expired or been revoked. Log in again.' : 'Log in with a token or an API key.';
    return { title, advice: [why], isLocked: true };
  }
  const target = new URL(url);
  const advice = [`Check that a server listens at ${target.host} and accepts WebSocket connections at ${target.pathname}.`];
  if (isLoggedIn) {
    advice.push('To log in, the page offers the subprotocols “jsonrpc” and “bearer.TOKEN”. The server must choose “jsonrpc”.');
  }
  if (target.host !== new URL(origin).host) {
    advice.push(
      `It may refuse pages from ${origin}. If it is a Switchboard server, start it with: switchboard serve --allow-origin ${origin}`,
    );
  }
  return { title: 'The WebSocket did not open', advice };
}

/** Explains a login that cannot be sent when a WebSocket is opened. */
export function explainUnfit(character: string): Failure {
  const why = `Browsers send it as a subprotocol, which cannot contain “${character}”.`;
  return { title: 'Your login cannot be used over a WebSocket', advice: [why, 'Choose HTTP or SSE, or log in with another token.'] };
}

/** Explains a path at which a server has nothing. */
export function nothingAt(url: string): Failure {
  const { host, pathname } = new URL(url);
  return {
    title: `${host} serves nothing at ${pathname}`,
    advice: ['Check the path of the endpoint. A Switchboard server answers at / and /rpc.'],
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host.startsWith('127.');
}
