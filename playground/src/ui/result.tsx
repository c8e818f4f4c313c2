/** The answer to a request. */

import { useEffect, useRef } from 'preact/hooks';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { compact } from '../json/print.js';
import { UNAUTHORIZED, meaning } from '../rpc/errors.js';
import type { Exchange, Failure, Frame } from '../rpc/exchange.js';
import { type Incoming, type RpcError, readMessage } from '../rpc/message.js';
import { time } from './amounts.js';
import { Empty } from './controls.js';
import { IdTag } from './id-tag.js';
import { JsonView } from './json-view.js';
import { LoginOffer } from './login.js';

export function Result({ exchange }: { exchange: Exchange }) {
  void exchange.revision.value;
  if (exchange.failure && exchange.received === 0) return <FailureCard failure={exchange.failure} />;
  const only = exchange.frames.length === 1 && exchange.state !== 'live' ? exchange.frames[0] : undefined;
  // One response is not laid out as an item as well: it may be long.
  const items = only?.message.kind === 'response' && !only.message.isStream ? [] : exchange.frames.flatMap(toItem);
  const isStream = exchange.state === 'live' || items.length > 1 || exchange.frames.some(begins);
  if (isStream) return <Items exchange={exchange} items={items} />;
  const last = exchange.frames.at(-1);
  if (!last) return <Nothing exchange={exchange} />;
  if (last.message.kind === 'batch') return <Batch exchange={exchange} entries={last.message.entries} />;
  return <One message={last.message} text={last.text} status={exchange.http?.status} />;
}

function One({ message, text, status }: { message: Incoming; text: string; status: number | undefined }) {
  if (message.kind === 'response' && message.error) return <ErrorCard error={message.error} status={status} />;
  const result = message.kind === 'response' ? (message.result ?? 'null') : text;
  return (
    <section class="result" aria-label="Result">
      {message.kind !== 'response' && <p class="muted">This is not a response object.</p>}
      <JsonView text={result} label="Result as JSON" />
    </section>
  );
}

export function ErrorCard({ error, status }: { error: RpcError; status?: number | undefined }) {
  return (
    <section class="error-card" aria-label="Error">
      <p class="error-line">
        <span class="error-code mono">{error.code ?? 'no code'}</span> {error.message}
      </p>
      <p class="muted">{meaning(error.code, status)}</p>
      {error.data !== undefined && <JsonView text={error.data} label="Error data" />}
      {(status === 401 || error.code === UNAUTHORIZED) && <LoginOffer />}
    </section>
  );
}

function FailureCard({ failure }: { failure: Failure }) {
  return (
    <section class="error-card" aria-label="Failure" role="alert">
      <p class="error-line">{failure.title}</p>
      <ul class="advice">
        {failure.advice.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      {failure.isLocked && <LoginOffer />}
    </section>
  );
}

function Nothing({ exchange }: { exchange: Exchange }) {
  if (exchange.endedAt === undefined) return <Empty title="Waiting for the answer…" />;
  if (exchange.state === 'stopped') return <Empty title="Stopped before the server answered" />;
  return (
    <Empty title="No answer">
      <p>
        Servers do not answer notifications or batches of notifications.{exchange.http && ` The HTTP status is ${exchange.http.status}.`}
      </p>
    </Empty>
  );
}

function Batch({ exchange, entries }: { exchange: Exchange; entries: readonly Incoming[] }) {
  const sent = readMessage(exchange.sent.text);
  const calls = sent.kind === 'batch' ? sent.entries : [];
  const nameOf = (id: string) => calls.find((call) => call.kind === 'call' && call.id === id);
  return (
    <ol class="batch" aria-label="Answers to the batch">
      {entries.map((entry, at) => {
        if (entry.kind !== 'response') return <li key={at}>This entry is not a response object.</li>;
        const call = nameOf(entry.id);
        return (
          <li key={at}>
            <p class="batch-head">
              <span class="mono">{call?.kind === 'call' ? call.method : 'unknown'}</span>
              <span class="muted mono">
                id <IdTag id={entry.id} />
              </span>
            </p>
            {entry.error ? <ErrorCard error={entry.error} /> : <JsonView text={entry.result ?? 'null'} label={`Result of ${entry.id}`} />}
          </li>
        );
      })}
    </ol>
  );
}

interface Item {
  readonly at: number;
  readonly text: string;
  readonly kind: 'item' | 'progress' | 'error' | 'end' | 'gap';
}

function Items({ exchange, items }: { exchange: Exchange; items: readonly Item[] }) {
  const list = useRef<HTMLOListElement>(null);
  const count = items.length;
  useEffect(() => {
    const element = list.current;
    const isNearEnd = element && element.scrollHeight - element.scrollTop - element.clientHeight < 120;
    if (isNearEnd) element.scrollTop = element.scrollHeight;
  }, [count]);
  const dropped = exchange.received - exchange.frames.length;
  return (
    <section class="stream" aria-label="Items of the stream">
      {dropped > 0 && <p class="muted">{dropped} earlier messages are no longer kept.</p>}
      {exchange.failure && <FailureCard failure={exchange.failure} />}
      <ol class="items" ref={list} aria-live="off" tabIndex={0} aria-label="Items">
        {items.map((item, at) => (
          <li key={at + dropped} class={item.kind}>
            <span class="item-time mono">{time(item.at)}</span>
            {item.kind !== 'item' && <span class="badge">{item.kind}</span>}
            <code>{item.text}</code>
          </li>
        ))}
      </ol>
      <p class="muted" data-testid="stream-state">
        {exchange.state === 'live' ? 'Live' : exchange.state === 'stopped' ? 'Stopped' : 'The stream has ended'}
      </p>
    </section>
  );
}

/** Whether a frame begins a stream on a connection. */
function begins({ message }: Frame): boolean {
  return message.kind === 'response' && message.isStream;
}

/** What a frame adds to a stream. */
function toItem({ at, message, text }: Frame): Item[] {
  if (message.kind === 'response') {
    if (message.isStream) return [];
    if (message.error) return [{ at, kind: 'error', text: `${message.error.code ?? ''} ${message.error.message}` }];
    return [{ at, kind: 'item', text: compact(message.result ?? 'null') }];
  }
  if (message.kind !== 'call') return [{ at, kind: 'item', text }];
  const { node } = parse(message.params);
  const part = (name: string) => {
    const found = member(node, name);
    return found ? compact(source(message.params, found)) : undefined;
  };
  const all: Item[] = [];
  const [gap, result, error, value] = [part('gap'), part('result'), part('error'), part('value')];
  if (gap !== undefined) all.push({ at, kind: 'gap', text: gap });
  if (result !== undefined) all.push({ at, kind: 'item', text: result });
  if (error !== undefined) all.push({ at, kind: 'error', text: error });
  if (message.method === 'rpc.progress' || value !== undefined) all.push({ at, kind: 'progress', text: value ?? message.params });
  if (message.method === 'rpc.end' && all.length === 0) all.push({ at, kind: 'end', text: '' });
  return all;
}
