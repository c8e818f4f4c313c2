/** The command that serves this page, and the MCP server behind it. */

import { computed, effect, signal } from '@preact/signals';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { keepInTab, recallInTab } from '../state/store.js';
import { forgetCalls, noteProgress } from './calls.js';
import { forgetLists, loadAll, loadChanged } from './catalog.js';
import { noteChange, noteLog } from './events.js';
import { CallFailed, Link } from './link.js';
import { addMessages, forgetMessages, lastNumber } from './messages.js';
import { ask } from './questions.js';
import { watchNothing } from './watching.js';

/** The state of the connection to the command. */
export type Phase = 'opening' | 'open' | 'lost' | 'locked' | 'replaced';
export const phase = signal<Phase>('opening');

/** What is known about the server. */
export interface About {
  readonly url: string;
  readonly revision: string;
  readonly stateless: boolean;
  readonly server: { readonly name?: string; readonly title?: string; readonly version?: string; readonly websiteUrl?: string } | null;
  readonly instructions: string | null;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

export const about = signal<About | undefined>(undefined);
/** The number of the connection to a server. */
export const connection = signal(0);
export const version = signal('');
/** What the address field holds. */
export const address = signal('');
/** Stops connecting, while that is done. */
export const connecting = signal<AbortController | undefined>(undefined);
export const problem = signal<{ readonly title: string; readonly advice: string | undefined } | undefined>(undefined);

export const serverName = computed(() => about.value?.server?.title || about.value?.server?.name || 'Server');

/** Whether the server has a capability, such as `resources.subscribe`. */
export function has(...path: readonly string[]): boolean {
  let place: unknown = about.value?.capabilities;
  for (const name of path) place = typeof place === 'object' && place !== null ? (place as Record<string, unknown>)[name] : undefined;
  return place !== undefined && place !== false && place !== null;
}

const TOKEN = 'inspector.token';
/** How long to wait before the command is tried again. */
const PAUSES = [500, 1000, 2000, 5000];

let link: Link | undefined;
let failures = 0;

/** Calls a method of the command; gives the result as JSON text. */
export function call(method: string, params: unknown, signal?: AbortSignal): Promise<string> {
  return callText(method, JSON.stringify(params), signal);
}

export function callText(method: string, params: string, signal?: AbortSignal): Promise<string> {
  return link ? link.call(method, params, signal) : Promise.reject(new CallFailed({ code: undefined, message: 'Not connected', data: undefined }));
}

/** Begins with the token of the link, or with the one that the page was given. */
export function start(): void {
  const given = location.hash.slice(1);
  // It must not stay in the address bar or the history.
  if (given !== '') history.replaceState(null, '', location.pathname);
  const token = given || recallInTab(TOKEN, (value) => (typeof value === 'string' ? value : undefined));
  if (token === undefined) phase.value = 'locked';
  else open(token);
}

function open(token: string): void {
  phase.value = 'opening';
  const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}${location.pathname}`;
  const next = new Link(url, token, () => void greet(next), {
    onClose: (wasOpen) => lose(token, wasOpen),
    onNotify: hear,
    onCall: ask,
  });
  link = next;
}

/** A token that was never accepted is not tried again: the link was used, or the command was started anew. */
function lose(token: string, wasOpen: boolean): void {
  link = undefined;
  connecting.value = undefined;
  if (phase.value === 'replaced') return;
  const known = recallInTab(TOKEN, (value) => (typeof value === 'string' ? value : undefined));
  if (known === undefined || (!wasOpen && known !== token)) {
    phase.value = 'locked';
    return;
  }
  phase.value = 'lost';
  setTimeout(() => open(known), PAUSES[Math.min(failures, PAUSES.length - 1)]);
  failures += 1;
}

async function greet(opened: Link): Promise<void> {
  const told = await opened.call('inspect/open', '{}');
  const { version: its, token, target, about: known } = JSON.parse(told) as {
    version: string;
    token: string;
    target: string;
    about: About | null;
  };
  keepInTab(TOKEN, token);
  failures = 0;
  version.value = its;
  if (address.value === '') address.value = known?.url ?? target;
  phase.value = 'open';
  if (known) {
    about.value = known;
    await loadMessages();
    loadAll();
  } else {
    await connect();
  }
}

/** Reads the messages that went before the page was loaded. */
async function loadMessages(): Promise<void> {
  for (;;) {
    const messages = JSON.parse(await call('inspect/messages', { after: lastNumber() })) as Parameters<typeof addMessages>[0];
    if (messages.length === 0) return;
    addMessages(messages);
  }
}

/** Connects to the server at the address. */
export async function connect(): Promise<void> {
  connecting.value?.abort();
  const controller = new AbortController();
  connecting.value = controller;
  leave();
  problem.value = undefined;
  forgetCalls();
  forgetMessages();
  watchNothing();
  try {
    about.value = JSON.parse(await call('inspect/connect', { url: address.value.trim() }, controller.signal)) as About;
    loadAll();
  } catch (error) {
    if (!controller.signal.aborted) problem.value = read(error);
  } finally {
    if (connecting.value === controller) connecting.value = undefined;
  }
}

export async function disconnect(): Promise<void> {
  await call('inspect/disconnect', {});
  leave();
}

/** Nothing that belongs to the connection so far is of use any more. */
function leave(): void {
  connection.value += 1;
  about.value = undefined;
  forgetLists();
}

function read(error: unknown): { title: string; advice: string | undefined } {
  if (!(error instanceof CallFailed)) return { title: String(error), advice: undefined };
  const data = error.error.data === undefined ? undefined : (JSON.parse(error.error.data) as { advice?: unknown } | null);
  return { title: error.message, advice: typeof data?.advice === 'string' ? data.advice : undefined };
}

function hear(method: string, params: string): void {
  const { node } = parse(params);
  const value = (): never => JSON.parse(params) as never;
  switch (method) {
    case 'inspect/messages': {
      const messages = member(node, 'messages');
      return addMessages(messages ? JSON.parse(source(params, messages)) : []);
    }
    case 'inspect/progress':
      return noteProgress(value());
    case 'inspect/log':
      return noteLog(value());
    case 'inspect/changed':
      noteChange(value());
      return loadChanged((value() as { kind: string }).kind);
    case 'inspect/replaced':
      phase.value = 'replaced';
      keepInTab(TOKEN, undefined);
      return link?.close();
  }
}

effect(() => {
  document.title = about.value ? `${serverName.value} – Switchboard inspector` : 'Switchboard inspector';
});
