/** Sends over HTTP: one POST, answered with one body or with an event stream. */

import { TooLong, isEvents, pieces } from './body.js';
import { EventReader } from './events.js';
import { type Exchange, type Head, LONGEST_ANSWER } from './exchange.js';
import { explain } from './failure.js';
import { probe } from './probe.js';

/** What goes out. */
export interface Post {
  readonly url: string;
  readonly headers: readonly Head[];
  readonly body: string;
}

/** Sends it and fills the exchange; returns when that has ended. Never throws. */
export async function post({ url, headers, body }: Post, exchange: Exchange): Promise<void> {
  const abort = new AbortController();
  exchange.stop = () => {
    exchange.end('stopped');
    abort.abort();
  };
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: headers.map(({ name, value }): [string, string] => [name, value]),
      body,
      signal: abort.signal,
      // The server of this page may have asked its reader to log in.
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
      referrerPolicy: 'no-referrer',
    });
    exchange.firstAt = performance.now() - exchange.begun;
    exchange.http = {
      status: response.status,
      reason: response.statusText,
      headers: [...response.headers].map(([name, value]) => ({ name, value })),
    };
    await (isEvents(response) ? readEvents(response, exchange) : readWhole(response, exchange));
    exchange.end('done');
  } catch (error) {
    if (exchange.endedAt !== undefined) return;
    if (error instanceof TooLong || exchange.http) {
      const title =
        error instanceof TooLong ? 'The answer is larger than 16 MiB' : 'The connection was lost before the answer was complete';
      exchange.fail({ title, advice: [] });
      abort.abort();
      return;
    }
    await fail(url, headers, error, exchange);
  }
}

async function readWhole(response: Response, exchange: Exchange): Promise<void> {
  let text = '';
  const take = (piece: string) => {
    text += piece;
  };
  await pieces(response, take, LONGEST_ANSWER);
  if (text !== '') exchange.receive(text);
}

async function readEvents(response: Response, exchange: Exchange): Promise<void> {
  exchange.state = 'live';
  const reader = new EventReader((data) => {
    // Not JSON: it says that the stream is complete (LLM-04).
    if (data !== '[DONE]') exchange.receive(data);
  });
  await pieces(response, (piece) => {
    exchange.raw = (exchange.raw + piece).slice(-(1 << 18));
    reader.push(piece);
    exchange.touch();
  });
}

async function fail(url: string, headers: readonly Head[], error: unknown, exchange: Exchange): Promise<void> {
  if (error instanceof TypeError && /header|ByteString|non ISO/i.test(error.message)) {
    exchange.fail({ title: 'A header contains a character that is not allowed', advice: [error.message] });
    return;
  }
  const names = headers.map((head) => head.name.toLowerCase()).filter((name) => name !== 'accept' && name !== 'content-type');
  exchange.fail(explain({ url, origin: location.origin, probe: await probe(url), headers: names }));
}
