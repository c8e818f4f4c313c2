/** The request being prepared: a call of a method, a message from "Break rules", or a step of a lesson. */

import { computed, signal } from '@preact/signals';
import { CASES, type Case } from '../broken/cases.js';
import { nodeAt } from '../json/node.js';
import { parse } from '../json/parse.js';
import { compact, pretty } from '../json/print.js';
import { LESSONS, type Lesson } from '../lessons/lessons.js';
import { type Method, itemsOf, paramsSchema } from '../rpc/document.js';
import type { Intent } from '../rpc/message.js';
import { type Path, type Problem, check } from '../schema/check.js';
import { sample } from '../schema/sample.js';
import { methods, root } from './catalog.js';
import { transport, version } from './settings.js';

export const view = signal<'call' | 'broken' | 'lesson'>('call');

export const method = signal('');
/** JSON text; empty means none. */
export const params = signal('');
export const isNotification = signal(false);
/** Whether a method that can answer with a stream is to do so; over a WebSocket that is to be said. */
export const wantsStream = signal(false);

export const broken = signal<Case>(CASES[0]!);
/** The text of the case, which may be changed. */
export const brokenText = signal(CASES[0]!.text);

export const lesson = signal<Lesson>(LESSONS[0]!);
/** Which of its steps is shown; the first is 0. */
export const stepAt = signal(0);

/** What is chosen. An answer to something else is an old one. */
export const subject = computed(() => {
  if (view.value === 'broken') return `message ${broken.value.key}`;
  return view.value === 'lesson' ? `lesson ${lesson.value.key} ${stepAt.value}` : `call ${method.value}`;
});

/** What is known of the method. */
export const described = computed(() => methods.value.find(({ name }) => name === method.value));

const parsed = computed(() => parse(params.value));
export const tree = computed(() => parsed.value.node);
const isPositional = computed(() => (tree.value ? tree.value.kind === 'array' : takesList(described.value)));

/** The schema of the params, in the form in which they stand in the editor. */
export const schema = computed(() =>
  described.value && !described.value.isOpen ? paramsSchema(described.value, isPositional.value) : undefined,
);

/** Why the server refused params, and where: it is shown until they change. */
export const refusal = signal<
  { readonly method: string; readonly params: string; readonly path: Path; readonly message: string } | undefined
>(undefined);

/** What is wrong with the params, as far as the page can know. */
const found = computed((): readonly Problem[] => {
  const text = params.value;
  if (text.trim() === '') {
    const missing = described.value?.params.filter((param) => param.required && !param.rest) ?? [];
    return missing.map(({ name }) => ({ from: 0, to: 0, message: `"${name}" is missing`, path: [name] }));
  }
  const { node, fault } = parsed.value;
  if (fault) return [{ from: fault.at, to: Math.min(fault.at + 1, text.length), message: fault.message, path: [] }];
  if (!node || (node.kind !== 'array' && node.kind !== 'object')) {
    return [{ from: 0, to: text.length, message: 'params must be an array or an object', path: [] }];
  }
  if (version.value === '1.0' && node.kind === 'object') {
    return [{ from: node.from, to: node.to, message: 'in 1.0, params must be an array', path: [] }];
  }
  return check(text, node, schema.value, root.value);
});

/** The same, and what the server said about them. */
export const problems = computed((): readonly Problem[] => {
  const said = refusal.value;
  if (said?.method !== method.value || compact(said.params) !== compact(params.value)) return found.value;
  // Found here already, in our own words.
  if (found.value.some(({ path }) => path.join('/') === said.path.join('/'))) return found.value;
  const { from, to } = nodeAt(tree.value, said.path) ?? { from: 0, to: params.value.length };
  return [...found.value, { from, to, message: said.message, path: said.path }];
});

/** A problem with the name of what it is about, unless the message begins with it. */
export function withPlace({ path, message }: Problem): string {
  if (path.length === 0 || message.startsWith('"')) return message;
  const [first, ...rest] = path;
  const name = typeof first === 'number' ? (described.value?.params[first]?.name ?? `[${first}]`) : first;
  return `${name}${rest.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')}: ${message}`;
}

export const intent = computed((): Intent => ({
  version: version.value,
  method: method.value,
  params: params.value,
  isNotification: isNotification.value,
  wantsStream: wantsStream.value && transport.value === 'ws',
}));

/** Whether params of this method go into a list. */
export function takesList(method: Method | undefined): boolean {
  if (version.value === '1.0' || method?.structure === 'by-position') return true;
  return method?.structure === 'either' && method.params.some((param) => param.rest);
}

/** Prepares a call of a method, with params to begin with. */
export function choose(name: string): void {
  view.value = 'call';
  method.value = name;
  const known = methods.value.find((method) => method.name === name);
  params.value = known ? firstParams(known) : '';
  // One that has no result is there to be notified.
  isNotification.value = known !== undefined && known.result === undefined;
}

/** Prepares a first call, where nothing was chosen: one that changes nothing. */
export function chooseFirst(): void {
  if (method.value !== '' || view.value !== 'call') return;
  const first = methods.value.find(({ marks, params }) => marks.includes('safe') && !marks.includes('deprecated') && params.length > 0);
  if (first) choose(first.name);
}

/** Prepares a message that breaks a rule, or that is odd. */
export function chooseBroken(chosen: Case, text = chosen.text): void {
  view.value = 'broken';
  broken.value = chosen;
  brokenText.value = text;
}

function firstParams(method: Method): string {
  if (method.params.length === 0) return '';
  const asList = takesList(method);
  if (method.example !== undefined && (method.example.startsWith('[') || !asList)) return pretty(method.example);
  const wanted = method.params.filter((param) => param.required || param.rest);
  if (asList) {
    return pretty(`[${wanted.map(({ rest, schema }) => sample(rest ? itemsOf(schema) : schema, root.value)).join(',')}]`);
  }
  const values = wanted.map(({ rest, schema }) => (rest ? `[${sample(itemsOf(schema), root.value)}]` : sample(schema, root.value)));
  return pretty(`{${wanted.map(({ name }, at) => `${JSON.stringify(name)}:${values[at]}`).join(',')}}`);
}

/** Turns params by name into a list, or a list into names, where the method is known: 1.0 takes lists only. */
export function reshape(toList: boolean): void {
  const node = tree.value;
  const known = described.value;
  if (!node || !known) return;
  const text = (at: { from: number; to: number }) => compact(params.value.slice(at.from, at.to));
  if (toList && node.kind === 'object') {
    const values = known.params.map((param) => node.members.find((member) => member.name === param.name)?.value);
    while (values.length > 0 && values.at(-1) === undefined) values.pop();
    params.value = pretty(`[${values.map((value) => (value ? text(value) : 'null')).join(',')}]`);
  } else if (!toList && node.kind === 'array' && !takesList(known)) {
    const members = node.items.map((item, at) => `${JSON.stringify(known.params[at]?.name ?? `extra${at}`)}:${text(item)}`);
    params.value = pretty(`{${members.join(',')}}`);
  }
}
