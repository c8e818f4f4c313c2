/** Sending, and what came of it. */

import { effect, signal } from '@preact/signals';
import { type Verdict, judge } from '../broken/expectation.js';
import { Exchange, type Head, size } from '../rpc/exchange.js';
import { Link, type LinkState } from '../rpc/link.js';
import { compose, composeBatch, readMessage } from '../rpc/message.js';
import { post } from '../rpc/post.js';
import { broken, brokenText, intent } from './draft.js';
import { remember } from './history.js';
import { endpoint, headers, target, transport } from './settings.js';
import { tray } from './tray.js';

/** The last sendings, the newest first. */
export const log = signal<readonly Exchange[]>([]);
export const shown = signal<Exchange | undefined>(undefined);
/** What is said aloud to whoever does not see the page change. */
export const spoken = signal('');

const MOST = 30;
let nextId = 0;

export interface Push {
  readonly key: number;
  readonly at: Date;
  readonly text: string;
}

/** What the server sent by itself, the newest last. */
export const pushes = signal<readonly Push[]>([]);
export const pushCount = signal(0);
const KEPT_PUSHES = 200;
/** Longer ones are cut. */
const LONGEST_PUSH = 64 << 10;

export const linkState = signal<LinkState>('closed');
let link: Link | undefined;

/** The verdict on the last broken message that was sent. */
export const verdict = signal<{ readonly exchange: Exchange; readonly verdict: Verdict } | undefined>(undefined);

/** How long a socket may stay silent before that counts as no answer. */
const SILENCE = 700;

// A socket belongs to one endpoint.
effect(() => {
  const url = target.value;
  if (link && (transport.value !== 'ws' || link.url !== url)) disconnect();
});

export function disconnect(): void {
  link?.close();
  link = undefined;
}

/** Sends the call that is prepared. */
export function sendDraft(): Exchange | undefined {
  const draft = intent.value;
  if (draft.method.trim() === '') return undefined;
  const id = String((nextId += 1));
  const text = compose(draft, id);
  const exchange = begin(draft.method, text);
  const note = remember({
    endpoint: endpoint.value,
    transport: transport.value,
    version: draft.version,
    method: draft.method,
    params: draft.params,
    isNotification: draft.isNotification,
  });
  void deliver(exchange, text, draft.isNotification ? [] : [id]).then(() => {
    const { outcome, isFailure } = summary(exchange);
    note(outcome, isFailure);
    spoken.value = `${draft.method}: ${outcome}`;
  });
  return exchange;
}

/** Sends what is in the tray as one batch. */
export function sendTray(): Exchange | undefined {
  const entries = tray.value;
  if (entries.length === 0) return undefined;
  const ids: string[] = [];
  const texts = entries.map(({ intent }) => {
    const id = String((nextId += 1));
    if (!intent.isNotification) ids.push(id);
    return compose(intent, id);
  });
  const text = composeBatch(texts);
  const exchange = begin(`Batch of ${entries.length}`, text);
  void deliver(exchange, text, ids).then(() => {
    spoken.value = `Batch: ${summary(exchange).outcome}`;
  });
  return exchange;
}

/** Sends the text that breaks a rule, as it is. */
export function sendBroken(): Exchange {
  const chosen = broken.value;
  const text = brokenText.value;
  const isChanged = text !== chosen.text;
  const exchange = begin(isChanged ? `${chosen.title} (changed)` : chosen.title, text, true);
  verdict.value = undefined;
  const isSocket = transport.value === 'ws';
  void deliver(exchange, text, [], true).then(() => {
    if (exchange.state !== 'done' || isChanged) return;
    const expected = (isSocket ? chosen.expectedOnSocket : undefined) ?? chosen.expected;
    const found = judge(expected, exchange.frames.map((frame) => frame.text).join('\n'));
    verdict.value = { exchange, verdict: found };
    spoken.value = found.text;
  });
  return exchange;
}

function begin(title: string, text: string, isBroken = false): Exchange {
  const sent = { title, isBroken, transport: transport.value, url: target.value, headers: shownHeaders(), text, bytes: size(text) };
  const exchange = new Exchange(sent);
  log.value = [exchange, ...log.value].slice(0, MOST);
  shown.value = exchange;
  return exchange;
}

/** Sends, and returns when all has come. */
async function deliver(exchange: Exchange, text: string, ids: readonly string[], isLoose = false): Promise<void> {
  if (transport.value === 'ws') return deliverOnLink(exchange, text, ids, isLoose);
  await post({ url: target.value, headers: wireHeaders(), body: text }, exchange);
}

async function deliverOnLink(exchange: Exchange, text: string, ids: readonly string[], isLoose: boolean): Promise<void> {
  if (link?.url !== target.value) {
    disconnect();
    link = new Link(target.value, { onState: (state) => (linkState.value = state), onPush: notePush });
  }
  const mine = link;
  await mine.send(text, ids, exchange, isLoose);
  if (isLoose) setTimeout(() => mine.settle(exchange), SILENCE);
  await ended(exchange);
}

function ended(exchange: Exchange): Promise<void> {
  return new Promise((resolve) => {
    const stop = exchange.revision.subscribe(() => {
      if (exchange.endedAt === undefined) return;
      queueMicrotask(() => stop());
      resolve();
    });
  });
}

function notePush(text: string): void {
  pushCount.value += 1;
  pushes.value = [...pushes.value, { key: pushCount.value, at: new Date(), text: text.slice(0, LONGEST_PUSH) }].slice(-KEPT_PUSHES);
}

export function clearPushes(): void {
  pushes.value = [];
  pushCount.value = 0;
}

/** The headers of a POST. One that was set by hand takes the place of ours. */
function wireHeaders(): Head[] {
  const accept = transport.value === 'sse' ? 'text/event-stream, application/json;q=0.9' : 'application/json';
  const ours = [
    { name: 'Content-Type', value: 'application/json' },
    { name: 'Accept', value: accept },
  ];
  const set = headers.value.map(({ name, value }) => ({ name: name.trim(), value }));
  const isSet = ({ name }: Head) => set.some((head) => head.name.toLowerCase() === name.toLowerCase());
  return [...ours.filter((head) => !isSet(head)), ...set];
}

/** The same, for eyes: secret values are replaced. A page cannot give a WebSocket headers. */
function shownHeaders(): Head[] {
  if (transport.value === 'ws') return [];
  const secret = new Set(headers.value.filter((header) => header.isSecret).map((header) => header.name.trim()));
  return wireHeaders().map(({ name, value }) => ({ name, value: secret.has(name) ? '••••••' : value }));
}

/** What came of a sending, in a few words. */
export function summary(exchange: Exchange): { readonly outcome: string; readonly isFailure: boolean } {
  if (exchange.failure) return { outcome: exchange.failure.title, isFailure: true };
  if (exchange.state === 'stopped') return { outcome: 'stopped', isFailure: false };
  if (exchange.state === 'waiting') return { outcome: 'waiting', isFailure: false };
  const last = exchange.frames.at(-1);
  const message = last ? readMessage(last.text) : undefined;
  if (message?.kind === 'response' && message.error) return { outcome: `error ${message.error.code ?? ''}`.trim(), isFailure: true };
  if (message?.kind === 'batch') {
    const errors = message.entries.filter((entry) => entry.kind === 'response' && entry.error).length;
    return {
      outcome: errors > 0 ? `${errors} of ${message.entries.length} failed` : `${message.entries.length} answers`,
      isFailure: errors > 0,
    };
  }
  if (exchange.received > 1 || exchange.state === 'live') return { outcome: `${exchange.received} messages`, isFailure: false };
  if (exchange.received === 0) return { outcome: 'no answer, as it should be', isFailure: false };
  return { outcome: 'result', isFailure: false };
}
