/** The lesson that is being taken, and how it goes. */

import { batch, computed, effect, signal } from '@preact/signals';
import { type Seen, type Verdict, look } from '../lessons/check.js';
import type { Lesson, Step } from '../lessons/lessons.js';
import type { Exchange } from '../rpc/exchange.js';
import { readMessage } from '../rpc/message.js';
import { discovery, methods } from './catalog.js';
import { lesson, stepAt, view } from './draft.js';
import { sendMessage, sendText, write } from './message.js';
import { endpointProblem, transport } from './settings.js';
import { keep, recall } from './store.js';
import { pushCount, pushes } from './traffic.js';

export const step = computed((): Step => lesson.value.steps[stepAt.value]!);

/** What was sent for the step that is shown. */
const sent = signal<{ readonly step: Step; readonly exchanges: readonly Exchange[]; readonly pushesBefore: number } | undefined>(undefined);

/** The steps that were passed, kept in this browser. */
export const passed = signal<readonly string[]>(recall('lessons', readKeys) ?? []);
effect(() => keep('lessons', passed.value.length === 0 ? undefined : passed.value));

/** Shows a step, with its message ready to be sent. */
export function openStep(chosen: Lesson, number = 0): void {
  batch(() => {
    view.value = 'lesson';
    lesson.value = chosen;
    stepAt.value = number;
    sent.value = undefined;
    transport.value = step.value.transport ?? 'http';
    write(step.value.send);
  });
}

/** The first step of a lesson that was not passed yet. */
export function resume(chosen: Lesson): void {
  const open = chosen.steps.findIndex((_, number) => !passed.value.includes(keyOf(chosen, number)));
  openStep(chosen, Math.max(open, 0));
}

/** Sends the message of the step, and the one before it. */
export function sendStep(): void {
  const current = step.value;
  if (!canSend.value) return;
  const pushesBefore = pushCount.value;
  const before = current.first === undefined ? undefined : sendText(current.first);
  const exchanges = [before, sendMessage()].filter((exchange) => exchange !== undefined);
  sent.value = { step: current, exchanges, pushesBefore };
}

/** The methods that the step needs and the server lacks, as far as it says what it has. */
export const missing = computed((): readonly string[] => {
  if (discovery.value.state !== 'ready') return [];
  return step.value.needs.filter((name) => !methods.value.some((method) => method.name === name));
});

export const canSend = computed(() => missing.value.length === 0 && endpointProblem.value === '');

/** Whether the answer is what the step is about; undefined before it is sent. */
export const verdict = computed((): Verdict | undefined => {
  const current = sent.value;
  if (!current || current.step !== step.value) return undefined;
  for (const { revision } of current.exchanges) void revision.value;
  const failure = current.exchanges.find((exchange) => exchange.failure)?.failure;
  if (failure) return { state: 'different', text: `${failure.title}.` };
  return look(step.value.check, seenOf(current.exchanges, current.pushesBefore));
});

function seenOf(exchanges: readonly Exchange[], pushesBefore: number): Seen {
  const frames = exchanges.flatMap(({ begun, frames }) => frames.map((frame) => ({ moment: begun + frame.at, message: frame.message })));
  return {
    messages: frames.sort((a, b) => a.moment - b.moment).map(({ message }) => message),
    pushes: pushes.value.filter(({ key }) => key > pushesBefore).map(({ text }) => readMessage(text)),
    isOver: exchanges.every(({ endedAt }) => endedAt !== undefined),
  };
}

effect(() => {
  if (verdict.value?.state !== 'passed') return;
  const key = keyOf(lesson.peek(), stepAt.peek());
  if (!passed.peek().includes(key)) passed.value = [...passed.peek(), key];
});

export function keyOf(lesson: Lesson, number: number): string {
  return `${lesson.key}/${number}`;
}

/** How many steps of a lesson were passed. */
export function passedOf(lesson: Lesson): number {
  return lesson.steps.filter((_, number) => passed.value.includes(keyOf(lesson, number))).length;
}

function readKeys(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((key) => typeof key === 'string').slice(0, 200) : undefined;
}
