/** Sends over HTTP: one POST, whose answer comes whole or as an event stream. */

import { EventReader } from './events.js';
import { type Exchange, type Head, LONGEST_ANSWER } from './exchange.js';
import { explain } from './failure.js';

/** What goes out. */
export interface Post {
  readonly url: string;
  readonly headers: readonly Head[];
  readonly body: string;
}

/** Sends it and fills the exchange; returns when all has come. Never throws. */
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
      credentials: 'omit',
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
    const isEvents = (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
    await (isEvents ? readEvents(response, exchange) : readWhole(response, exchange));
    exchange.end('done');
  } catch (error) {
    if (exchange.endedAt !== undefined) return;
    if (error instanceof TooLong || exchange.http) {
      const title = error instanceof TooLong ? 'The answer is longer than 16 MiB' : 'The connection broke before the answer ended';
      exchange.fail({ title, advice: [] });
      abort.abort();
      return;
    }
    await fail(url, headers, error, exchange);
  }
}

class TooLong extends Error {}

async function readWhole(response: Response, exchange: Exchange): Promise<void> {
  let text = '';
  await pieces(response, (piece) => {
    text += piece;
  });
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

/** Gives the body in pieces of text, up to the limit. An event stream has none: it lasts as long as it is wanted. */
async function pieces(response: Response, give: (piece: string) => void): Promise<void> {
  const isEvents = (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || !value) break;
    length += value.length;
    if (!isEvents && length > LONGEST_ANSWER) throw new TooLong();
    give(decoder.decode(value, { stream: true }));
  }
  give(decoder.decode());
}

async function fail(url: string, headers: readonly Head[], error: unknown, exchange: Exchange): Promise<void> {
  if (error instanceof TypeError && /header|ByteString|non ISO/i.test(error.message)) {
    exchange.fail({ title: 'A header has a character that none may have', advice: [error.message] });
    return;
  }
  const isForeign = new URL(url).origin !== location.origin;
  const isReachable = isForeign && (await answers(url));
  const names = headers.map((head) => head.name.toLowerCase()).filter((name) => name !== 'accept' && name !== 'content-type');
  exchange.fail(explain({ url, origin: location.origin, isReachable, headers: names }));
}

/** Whether somebody answers there. The answer itself is hidden from the page, and so is why there is none. */
async function answers(url: string): Promise<boolean> {
  try {
    await fetch(url, { mode: 'no-cors', credentials: 'omit', cache: 'no-store', signal: AbortSignal.timeout(5000) });
    return true;
  } catch {
    return false;
  }
}
