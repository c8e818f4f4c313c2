/** What the server asks the user: forms, URLs to open, texts of a model, and logins. */

import { signal } from '@preact/signals';
import type { Keywords } from '../schema/schema.js';
import { CallFailed } from './link.js';

/** The code of an error that says that the user refused. */
const REFUSED = -1;

export interface SamplingMessage {
  readonly role: string;
  /** One block or several. */
  readonly content: unknown;
}

interface Base<T> {
  readonly key: number;
  readonly answer: (value: T) => void;
}

export type Elicited = { readonly action: 'accept' | 'decline' | 'cancel'; readonly content?: unknown };

export type Question =
  | (Base<string> & { readonly kind: 'form'; readonly message: string; readonly schema: Keywords })
  | (Base<Elicited> & { readonly kind: 'url'; readonly message: string; readonly url: string })
  | (Base<{ text: string; model: string } | undefined> & {
      readonly kind: 'sample';
      readonly messages: readonly SamplingMessage[];
      readonly system: string;
      readonly maxTokens: number;
      readonly models: readonly string[];
    })
  | (Base<void> & { readonly kind: 'login'; readonly url: string });

/** What waits for the user, the oldest first. */
export const questions = signal<readonly Question[]>([]);
let lastKey = 0;

/** Answers a call of the command, when the user has. */
export async function ask(method: string, params: string, stop: AbortSignal): Promise<string> {
  const value = JSON.parse(params) as Readonly<Record<string, never>>;
  switch (method) {
    case 'inspect/elicit':
      if (value['mode'] === 'url') {
        const url: string = value['url'] ?? '';
        return JSON.stringify(await put<Elicited>(stop, (base) => ({ ...base, kind: 'url', message: value['message'] ?? '', url })));
      }
      // JSON text, so that numbers stay as they were typed.
      return put<string>(stop, (base) => ({ ...base, kind: 'form', message: value['message'] ?? '', schema: value['requestedSchema'] ?? {} }));
    case 'inspect/sample':
      return sampled(value, stop);
    case 'inspect/login':
      await put<void>(stop, (base) => ({ ...base, kind: 'login', url: value['url'] ?? '' }));
      return 'null';
    default:
      throw new CallFailed({ code: -32601, message: 'Method not found', data: undefined });
  }
}

/** Asks the user whether to open a page that a view links to; true if it was opened. */
export async function askToOpen(url: string, view: string): Promise<boolean> {
  const message = `The view of ${view} links to this page.`;
  const told = await put<Elicited>(new AbortController().signal, (base) => ({ ...base, kind: 'url', message, url }));
  return told.action === 'accept';
}

async function sampled(value: Readonly<Record<string, never>>, stop: AbortSignal): Promise<string> {
  const hints = (value['modelPreferences'] as { hints?: readonly { name?: string }[] } | undefined)?.hints ?? [];
  const told = await put<{ text: string; model: string } | undefined>(stop, (base) => ({
    ...base,
    kind: 'sample',
    messages: value['messages'] ?? [],
    system: value['systemPrompt'] ?? '',
    maxTokens: value['maxTokens'] ?? 0,
    models: hints.flatMap(({ name }) => (name === undefined ? [] : [name])),
  }));
  if (!told) throw new CallFailed({ code: REFUSED, message: 'User rejected sampling request', data: undefined });
  return JSON.stringify({ role: 'assistant', content: { type: 'text', text: told.text }, model: told.model, stopReason: 'endTurn' });
}

/** Puts a question to the user, until it is answered or not wanted any more. */
function put<T>(stop: AbortSignal, make: (base: Base<T>) => Question): Promise<T> {
  return new Promise((resolve, reject) => {
    lastKey += 1;
    const key = lastKey;
    const remove = () => (questions.value = questions.value.filter((question) => question.key !== key));
    const answer = (value: T) => {
      remove();
      resolve(value);
    };
    stop.addEventListener('abort', () => {
      remove();
      reject(new Error('not wanted any more'));
    });
    questions.value = [...questions.value, make({ key, answer })];
  });
}

/** A URL that may be opened; others, such as `javascript:`, are only shown. */
export function openable(url: string): string | undefined {
  return /^https?:\/\//i.test(url) && URL.canParse(url) ? new URL(url).href : undefined;
}
