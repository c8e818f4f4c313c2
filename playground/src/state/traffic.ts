/** Sending requests, and their outcomes. */

import { computed, effect, signal } from '@preact/signals';
import { member } from '../json/node.js';
import { parse } from '../json/parse.js';
import { Exchange, type Head, size } from '../rpc/exchange.js';
import { Link, type LinkState } from '../rpc/link.js';
import { type Intent, compose, composeBatch } from '../rpc/message.js';
import { post } from '../rpc/post.js';
import { headers, login } from './access.js';
import { intent, refusal, subject } from './draft.js';
import { remember } from './history.js';
import { noteRefusal } from './identity.js';
import { takeId } from './ids.js';
import { routed } from './proxy.js';
import { endpoint, endpointProblem, target, transport } from './settings.js';
import { spoken } from './spoken.js';
import { tray } from './tray.js';

/** The last exchanges, the newest first. */
export const log = signal<readonly Exchange[]>([]);
export const shown = signal<Exchange | undefined>(undefined);
/** What was chosen when it was shown. */
const shownFor = signal('');
/** Whether something else was chosen since, so that what is shown does not belong to it. */
export const isStale = computed(() => shown.value !== undefined && shownFor.value !== subject.value);

/** As many are kept. */
export const KEPT_EXCHANGES = 30;

export interface Push {
  readonly key: number;
  readonly at: Date;
  /** Milliseconds on the clock of the page, which exchanges use, too. */
  readonly moment: number;
  readonly text: string;
}

/** What the server pushed, the newest last. */
export const pushes = signal<readonly Push[]>([]);
export const pushCount = signal(0);
const KEPT_PUSHES = 200;
/** Longer ones are cut. */
const LONGEST_PUSH = 64 << 10;

export const linkState = signal<LinkState>('closed');
let link: Link | undefined;

/** How long a WebSocket may stay silent before that counts as no answer. */
const SILENCE = 700;

// A socket belongs to one endpoint and one caller.
effect(() => {
  const [url, caller] = [target.value, login.value];
  if (link && (transport.value !== 'ws' || link.url !== url || link.login !== caller)) disconnect();
});

export function disconnect(): void {
  link?.close();
  link = undefined;
}

/** Sends the call that is prepared. */
export function sendDraft(): Exchange | undefined {
  const draft = intent.value;
  if (draft.method.trim() === '' || endpointProblem.value) return undefined;
  const id = takeId();
  return sendCall(draft, compose(draft, id), draft.isNotification ? [] : [id]);
}

/** Sends what is in the tray as one batch. */
export function sendTray(): Exchange | undefined {
  const calls = tray.value.map(({ intent }) => intent);
  if (calls.length === 0 || endpointProblem.value) return undefined;
  const ids: string[] = [];
  const texts = calls.map((call) => {
    const id = takeId();
    if (!call.isNotification) ids.push(id);
    return compose(call, id);
  });
  return sendBatch(calls, composeBatch(texts), ids);
}

/** Sends a call as this text has it. */
export function sendCall(call: Intent, text: string, ids: readonly string[]): Exchange {
  const { version, method, params, isNotification } = call;
  const exchange = begin(method, text);
  const note = remember({ ...where(), version, method, params, isNotification });
  void deliver(exchange, text, ids).then(() => {
    conclude(exchange, note);
    refusal.value = refused(exchange, call);
  });
  return exchange;
}

/** Sends a batch as this text has it. */
export function sendBatch(batch: readonly Intent[], text: string, ids: readonly string[]): Exchange {
  const title = `Batch of ${batch.length}`;
  const exchange = begin(title, text);
  const note = remember({ ...where(), version: '2.0', method: title, params: '', isNotification: false, batch });
  void deliver(exchange, text, ids).then(() => conclude(exchange, note));
  return exchange;
}

/** Shows an exchange of this session. */
export function show(exchange: Exchange): void {
  if (!log.value.includes(exchange)) log.value = [exchange, ...log.value].slice(0, KEPT_EXCHANGES);
  shown.value = exchange;
  shownFor.value = subject.value;
}

/** Notes the outcome of a request in the history, and says it. */
export function conclude(exchange: Exchange, note: (outcome: string, isFailure: boolean) => void): void {
  const { outcome, isFailure } = summary(exchange);
  note(outcome, isFailure);
  if (exchange.http?.status === 401 || exchange.failure?.isLocked) noteRefusal();
  spoken.value = `${exchange.sent.title}: ${outcome}`;
}

/** Why params were refused, if the server says which of them it is about. */
function refused(exchange: Exchange, { method, params }: Intent): typeof refusal.value {
  const message = exchange.frames.at(-1)?.message;
  if (message?.kind !== 'response' || message.error?.code !== -32602 || message.error.data === undefined) return undefined;
  const data = parse(message.error.data).node;
  const [path, expected] = [member(data, 'path'), member(data, 'expected')];
  if (path?.kind !== 'string') return undefined;
  const steps = path.value
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const said = expected?.kind === 'string' ? `the server expected ${expected.value}` : message.error.message;
  return { method, params, path: steps.map((step) => (/^\d+$/.test(step) ? Number(step) : step)), message: said };
}

/** Where a request goes, and how. */
export function where() {
  return { endpoint: endpoint.value, transport: transport.value };
}

/** An exchange that is shown. */
export function begin(title: string, text: string, isBroken = false): Exchange {
  const exchange = prepare(title, text, isBroken);
  show(exchange);
  return exchange;
}

/** An exchange that is not shown yet. */
export function prepare(title: string, text: string, isBroken: boolean): Exchange {
  const sent = { title, isBroken, transport: transport.value, url: target.value, headers: shownHeaders(), text, bytes: size(text) };
  return new Exchange(sent);
}

/** Sends, and returns when the exchange has ended. A text that is sent unread may be answered with anything, or not at all. */
export async function deliver(exchange: Exchange, text: string, ids: readonly string[], isLoose = false): Promise<void> {
  if (transport.value === 'ws') return deliverOnLink(exchange, text, ids, isLoose);
  await post(routed({ url: target.value, headers: wireHeaders(), body: text }), exchange);
}

async function deliverOnLink(exchange: Exchange, text: string, ids: readonly string[], isLoose: boolean): Promise<void> {
  if (link?.url !== target.value || link.login !== login.value) {
    disconnect();
    link = new Link(target.value, login.value, { onState: (state) => (linkState.value = state), onPush: notePush });
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
  const push = { key: pushCount.value, at: new Date(), moment: performance.now(), text: text.slice(0, LONGEST_PUSH) };
  pushes.value = [...pushes.value, push].slice(-KEPT_PUSHES);
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

/** The same, for eyes: secret values are replaced. A page cannot give a WebSocket headers, but a login. */
function shownHeaders(): Head[] {
  if (transport.value === 'ws') return login.value ? [{ name: 'Sec-WebSocket-Protocol', value: 'jsonrpc, bearer.••••••' }] : [];
  const secret = new Set(headers.value.filter((header) => header.isSecret).map((header) => header.name.trim()));
  return wireHeaders().map(({ name, value }) => ({ name, value: secret.has(name) ? '••••••' : value }));
}

/** The outcome of an exchange, in a few words. */
export function summary(exchange: Exchange): { readonly outcome: string; readonly isFailure: boolean } {
  if (exchange.failure) return { outcome: exchange.failure.title, isFailure: true };
  if (exchange.state === 'stopped') return { outcome: 'stopped', isFailure: false };
  if (exchange.state === 'waiting') return { outcome: 'waiting', isFailure: false };
  const last = exchange.frames.at(-1);
  const message = last?.message;
  if (message?.kind === 'response' && message.error) return { outcome: `error ${message.error.code ?? ''}`.trim(), isFailure: true };
  if (message?.kind === 'batch') {
    const errors = message.entries.filter((entry) => entry.kind === 'response' && entry.error).length;
    return {
      outcome: errors > 0 ? `${errors} of ${message.entries.length} failed` : counted(message.entries.length, 'answer'),
      isFailure: errors > 0,
    };
  }
  if (exchange.received > 1 || exchange.state === 'live') return { outcome: counted(exchange.received, 'message'), isFailure: false };
  if (exchange.received === 0) return { outcome: 'no answer, as expected', isFailure: false };
  return { outcome: 'result', isFailure: false };
}

function counted(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? '' : 's'}`;
}
