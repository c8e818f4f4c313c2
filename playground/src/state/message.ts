/**
 * The whole message that is about to be sent, as a text to change.
 *
 * The form and the text are two views of one draft. A text that was typed holds until the draft changes elsewhere, and is
 * sent byte for byte, also where the form could not express it.
 */

import { batch, computed, effect, signal } from '@preact/signals';
import { pretty } from '../json/print.js';
import { parse } from '../json/parse.js';
import { member } from '../json/node.js';
import type { Exchange } from '../rpc/exchange.js';
import { type Intent, compose, composeBatch } from '../rpc/message.js';
import { type Remark, remarks } from '../rpc/remarks.js';
import { type TypedRequest, awaited, readTyped } from '../rpc/typed.js';
import { intent, isNotification, method, params, problems, view, wantsStream, withPlace } from './draft.js';
import { remember } from './history.js';
import { nextId, skipIds } from './ids.js';
import { endpointProblem, transport, version } from './settings.js';
import { begin, conclude, deliver, sendBatch, sendCall, sendDraft, where } from './traffic.js';
import { fillTray, tray } from './tray.js';
import { sendBroken } from './trials.js';

/** What a message that was typed has in the history instead of the key of a case. */
const TYPED = 'typed';

/** How the request is shown. */
export const requestView = signal<'params' | 'message'>('params');
/** Which of the two that are prepared the message is: the call, or the batch that is being collected. */
export const prepared = signal<'call' | 'batch'>('call');
export const isBatch = computed(() => prepared.value === 'batch' && tray.value.length > 0);

const composed = computed(() => {
  const first = nextId.value;
  if (!isBatch.value) return pretty(compose(intent.value, String(first)));
  return pretty(composeBatch(tray.value.map((entry, at) => compose(entry.intent, String(first + at)))));
});

/** What the text follows. Neither the id nor the transport is part of it: typing survives sending and a change of transport. */
const basis = computed(() => {
  const call = [method.value, params.value, isNotification.value, version.value, wantsStream.value];
  return JSON.stringify([view.value === 'lesson', isBatch.value ? tray.value.map((entry) => entry.intent) : call]);
});
const typed = signal<{ readonly text: string; readonly basis: string } | undefined>(undefined);
export const isTyped = computed(() => typed.value?.basis === basis.value);
// What was typed for another call is not brought back by coming back to it.
effect(() => {
  if (typed.value && !isTyped.value) typed.value = undefined;
});
const current = computed(() => (isTyped.value ? typed.value!.text : composed.value));

/** The text, for an editor to show and to change. */
export const message = {
  get value() {
    return current.value;
  },
  set value(text: string) {
    if (text !== current.peek()) write(text);
  },
  peek: () => current.peek(),
};

/** Has this text sent; the draft follows it where it can. */
export function write(text: string): void {
  batch(() => {
    const read = readTyped(text);
    if (read && 'method' in read) adopt(read);
    else if (read && isBatch.peek()) fillTray(read.map(toIntent));
    typed.value = { text, basis: basis.peek() };
  });
}

/** Goes back to what the form says. */
export function resetMessage(): void {
  typed.value = undefined;
}

function adopt(read: TypedRequest): void {
  prepared.value = 'call';
  method.value = read.method;
  params.value = read.params;
  isNotification.value = read.isNotification;
  if (read.version) version.value = read.version;
  if (transport.peek() === 'ws') wantsStream.value = read.wantsStream === true;
}

function toIntent(read: TypedRequest): Intent {
  const { method, isNotification, wantsStream = false } = read;
  // Laid out anew: inside the message they may be indented.
  return { version: read.version ?? version.peek(), method, params: pretty(read.params), isNotification, wantsStream };
}

/** What is to be said about the message: by the protocol, and by the schema of the method. */
export const messageRemarks = computed((): readonly Remark[] => {
  const text = current.value;
  const found = remarks(text);
  const { node } = parse(text);
  if (found.some(({ isBreach }) => isBreach) || node?.kind !== 'object') return found;
  // The params of the draft are those of the text, so what is wrong with them is at the same distance from their start.
  const at = member(node, 'params') ?? { from: node.from, to: node.from };
  const isSame = text.slice(at.from, at.to) === params.value;
  const place = ({ from, to }: { from: number; to: number }) => (isSame ? { from: at.from + from, to: at.from + to } : at);
  return [...found, ...problems.value.map((problem) => ({ ...place(problem), message: withPlace(problem), isBreach: false }))];
});

/** Whether the message is what would be sent, rather than the call of the form. */
export const isSentAsWritten = computed(() => view.value === 'lesson' || (view.value === 'call' && requestView.value === 'message'));

/** The requests that the message holds, as far as it can be read. */
export const requests = computed((): readonly Intent[] => {
  const read = readTyped(current.value) ?? [];
  return ('method' in read ? [read] : read).map(toIntent);
});

/** Sends what the page shows: a message that breaks a rule, the message as it stands, or the call of the form. */
export function send(): Exchange | undefined {
  if (view.value === 'broken') return sendBroken();
  return isSentAsWritten.value ? sendMessage() : sendDraft();
}

/** Sends the message as it stands. */
export function sendMessage(): Exchange | undefined {
  return sendText(current.peek());
}

/** Sends any text as it is. */
export function sendText(text: string): Exchange | undefined {
  if (endpointProblem.value) return undefined;
  const read = readTyped(text);
  const ids = awaited(text);
  if (!read || !ids) return sendUnread(text, read && 'method' in read ? read.method : 'Message');
  skipIds(ids);
  return 'method' in read ? sendCall(toIntent(read), text, ids) : sendBatch(read.map(toIntent), text, ids);
}

/** Sends a text that breaks a rule, so that anything may come back. */
function sendUnread(text: string, title: string): Exchange {
  const exchange = begin(title, text, true);
  const note = remember({ ...where(), version: '2.0', method: title, params: text, isNotification: false, message: TYPED });
  void deliver(exchange, text, [], true).then(() => conclude(exchange, note));
  return exchange;
}
