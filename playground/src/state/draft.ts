/** What is about to be sent: a call of a method, or a text that breaks a rule. */

import { computed, signal } from '@preact/signals';
import { CASES, type Case } from '../broken/cases.js';
import { parse } from '../json/parse.js';
import { compact, pretty } from '../json/print.js';
import { type Method, itemsOf, paramsSchema } from '../rpc/document.js';
import type { Intent } from '../rpc/message.js';
import { type Problem, check } from '../schema/check.js';
import { sample } from '../schema/sample.js';
import { methods, root } from './catalog.js';
import { transport, version } from './settings.js';

export const view = signal<'call' | 'broken'>('call');

export const method = signal('');
/** JSON text; empty means none. */
export const params = signal('');
export const isNotification = signal(false);
/** Whether a method that can answer with a stream is to do so; over a WebSocket that is to be said. */
export const wantsStream = signal(false);

export const broken = signal<Case>(CASES[0]!);
/** The text of the case, which may be changed. */
export const brokenText = signal(CASES[0]!.text);

/** What is known of the method. */
export const described = computed(() => methods.value.find(({ name }) => name === method.value));

const parsed = computed(() => parse(params.value));
export const tree = computed(() => parsed.value.node);
const isPositional = computed(() => (tree.value ? tree.value.kind === 'array' : takesList(described.value)));

/** The schema of the params, in the form in which they stand in the editor. */
export const schema = computed(() =>
  described.value && !described.value.isOpen ? paramsSchema(described.value, isPositional.value) : undefined,
);

/** What is wrong with the params, as far as that can be told here. */
export const problems = computed((): readonly Problem[] => {
  const text = params.value;
  if (text.trim() === '') {
    const missing = described.value?.params.filter((param) => param.required && !param.rest) ?? [];
    return missing.map(({ name }) => ({ from: 0, to: 0, message: `"${name}" is missing` }));
  }
  const { node, fault } = parsed.value;
  if (fault) return [{ from: fault.at, to: Math.min(fault.at + 1, text.length), message: fault.message }];
  if (!node || (node.kind !== 'array' && node.kind !== 'object')) {
    return [{ from: 0, to: text.length, message: 'params are a list or an object' }];
  }
  if (version.value === '1.0' && node.kind === 'object') {
    return [{ from: node.from, to: node.to, message: '1.0 knows params as a list only' }];
  }
  return check(text, node, schema.value, root.value);
});

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

/** Shows a text that breaks a rule. */
export function chooseBroken(chosen: Case): void {
  view.value = 'broken';
  broken.value = chosen;
  brokenText.value = chosen.text;
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
