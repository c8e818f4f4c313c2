/** One step of a lesson: what to know, what to send, and what to notice. */

import { useEffect, useRef } from 'preact/hooks';
import { LESSONS } from '../lessons/lessons.js';
import { lesson, stepAt } from '../state/draft.js';
import { canSend, keyOf, missing, openStep, passed, sendStep, step, verdict } from '../state/lesson.js';
import { message, write } from '../state/message.js';
import { SendIcon } from './icons.js';
import { JsonView } from './json-view.js';
import { MessageBox } from './message.js';
import { Prose } from './request.js';

export function LessonPane() {
  const { title, steps } = lesson.value;
  const current = step.value;
  return (
    <div class="pane-scroll">
      <div class="method-head">
        <h2 class="lesson-title">{title}</h2>
        <Steps />
        <h3>
          Step {stepAt.value + 1} of {steps.length}: {current.title}
        </h3>
        <Prose text={current.text} />
      </div>
      <Missing />
      {current.first !== undefined && (
        <section class="lesson-first" aria-label="Sent first">
          <h3>Sent first</h3>
          <JsonView text={current.first} exact ids label="Message that is sent first" />
        </section>
      )}
      <MessageBox onReset={() => write(current.send)} canReset={message.value !== current.send} />
      <Outcome />
      <Moves />
    </div>
  );
}

/** All steps of the lesson, to go to. */
function Steps() {
  return (
    <ol class="steps" aria-label="Steps">
      {lesson.value.steps.map(({ title }, number) => {
        const isPassed = passed.value.includes(keyOf(lesson.value, number));
        return (
          <li key={number}>
            <button
              type="button"
              class={isPassed ? 'small passed' : 'small'}
              title={title}
              aria-label={`Step ${number + 1}: ${title}${isPassed ? ', done' : ''}`}
              {...(number === stepAt.value ? { 'aria-current': 'step' as const } : {})}
              onClick={() => openStep(lesson.value, number)}
            >
              {isPassed ? '✓' : number + 1}
            </button>
          </li>
        );
      })}
    </ol>
  );
}

function Missing() {
  if (missing.value.length === 0) return null;
  const names = missing.value.map((name) => `\`${name}\``).join(' and ');
  return (
    <div class="note" role="note">
      <Prose text={`This server has no method ${names}, so this step cannot run here. You can skip it.`} />
      <Prose text={'To take every lesson, start `switchboard serve` and open its page.'} />
    </div>
  );
}

/** What to notice in the answer. */
function Outcome() {
  const found = verdict.value;
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (found && found.state !== 'waiting') card.current?.scrollIntoView({ block: 'nearest' });
  }, [found?.state]);
  return (
    <div role="status" class="lesson-outcome" ref={card}>
      {found?.state === 'waiting' && <p class="muted">Waiting for the answer…</p>}
      {found?.state === 'passed' && (
        <div class="verdict right">
          <strong>✓ As expected</strong>
          <Prose text={step.value.notice} />
        </div>
      )}
      {found?.state === 'different' && (
        <div class="verdict wrong">
          <strong>Not as expected</strong>
          <p>{found.text}</p>
          {message.value !== step.value.send && <p>You changed the message. Reset brings back the original.</p>}
        </div>
      )}
    </div>
  );
}

/** Sending, and going on. */
function Moves() {
  const { steps } = lesson.value;
  const next = LESSONS[LESSONS.indexOf(lesson.value) + 1];
  const isLast = stepAt.value === steps.length - 1;
  const isPassed = verdict.value?.state === 'passed';
  return (
    <div class="actions">
      <button type="button" class={isPassed ? '' : 'primary'} disabled={!canSend.value} onClick={sendStep}>
        <SendIcon /> Send
      </button>
      <span class="actions-more">
        {stepAt.value > 0 && (
          <button type="button" onClick={() => openStep(lesson.value, stepAt.value - 1)}>
            Back
          </button>
        )}
        {!isLast && (
          <button type="button" class={isPassed ? 'primary' : ''} onClick={() => openStep(lesson.value, stepAt.value + 1)}>
            Next step
          </button>
        )}
        {isLast && next && (
          <button type="button" class={isPassed ? 'primary' : ''} onClick={() => openStep(next)}>
            Next lesson
          </button>
        )}
      </span>
    </div>
  );
}
