/** What the server asks, as dialogs. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { pretty } from '../../json/print.js';
import { sample } from '../../schema/sample.js';
import { Form } from '../../ui/form.js';
import { readBlocks } from '../content.js';
import { problemsOf, withPlace } from '../draft.js';
import { propertiesOf } from '../items.js';
import { type Question, openable, questions } from '../questions.js';
import { serverName } from '../session.js';
import { Blocks } from './result.js';

export function QuestionDialog() {
  const [first] = questions.value;
  return first ? <Asked key={first.key} question={first} more={questions.value.length - 1} /> : null;
}

function Asked({ question, more }: { question: Question; more: number }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const dismiss = (event: Event) => {
    event.preventDefault();
    if (question.kind === 'form') question.answer('{"action":"cancel"}');
    else if (question.kind === 'url') question.answer({ action: 'cancel' });
    else if (question.kind === 'sample') question.answer(undefined);
    else question.answer();
  };
  return (
    <dialog class="dialog question" ref={dialog} onCancel={dismiss} aria-labelledby="question-title">
      {question.kind === 'form' && <FormQuestion question={question} />}
      {question.kind === 'url' && <UrlQuestion question={question} />}
      {question.kind === 'sample' && <SampleQuestion question={question} />}
      {question.kind === 'login' && <LoginQuestion question={question} />}
      {more > 0 && <p class="muted more-questions">{more === 1 ? '1 more question waits.' : `${more} more questions wait.`}</p>}
    </dialog>
  );
}

function Body({ title, children, foot }: { title: string; children: ComponentChildren; foot: ComponentChildren }) {
  return (
    <div class="dialog-body">
      <h2 id="question-title">{title}</h2>
      {children}
      <div class="dialog-foot">{foot}</div>
    </div>
  );
}

function FormQuestion({ question: { message, schema, answer } }: { question: Question & { kind: 'form' } }) {
  const params = propertiesOf(schema);
  const [text, setText] = useState(() => {
    const begun = params.filter((param) => param.required || (typeof param.schema === 'object' && param.schema.default !== undefined));
    return pretty(`{${begun.map((param) => `${JSON.stringify(param.name)}:${sample(param.schema, schema)}`).join(',')}}`);
  });
  const wrong = problemsOf(text, { kind: 'tools', params, schema });
  return (
    <Body
      title={`${serverName.value} asks you`}
      foot={
        <>
          <button type="button" class="quiet" onClick={() => answer('{"action":"cancel"}')}>
            Cancel
          </button>
          <button type="button" onClick={() => answer('{"action":"decline"}')}>
            Decline
          </button>
          <button
            type="button"
            class="primary"
            disabled={wrong.length > 0}
            onClick={() => answer(`{"action":"accept","content":${text}}`)}
          >
            Submit
          </button>
        </>
      }
    >
      <p class="prose described">{message}</p>
      <Form params={params} problems={wrong} root={schema} text={text} onText={setText} />
      {wrong[0] && <p class="bad problem-line">{withPlace(wrong[0])}</p>}
    </Body>
  );
}

/** A URL is shown as it is, and opened by the user only. */
function Place({ url, label, onOpen }: { url: string; label: string; onOpen: () => void }) {
  const place = openable(url);
  return (
    <>
      <p class="mono place">{url}</p>
      {place ? (
        <p>
          <a class="button primary" href={place} target="_blank" rel="noopener noreferrer" onClick={onOpen}>
            {label} {new URL(place).host}
          </a>
        </p>
      ) : (
        <p class="bad">Only http and https URLs can be opened from here.</p>
      )}
    </>
  );
}

function UrlQuestion({ question: { message, url, answer } }: { question: Question & { kind: 'url' } }) {
  return (
    <Body
      title={`${serverName.value} wants you to open a page`}
      foot={
        <>
          <button type="button" class="quiet" onClick={() => answer({ action: 'cancel' })}>
            Cancel
          </button>
          <button type="button" onClick={() => answer({ action: 'decline' })}>
            Decline
          </button>
        </>
      }
    >
      <p class="prose described">{message}</p>
      <Place url={url} label="Open" onOpen={() => answer({ action: 'accept' })} />
    </Body>
  );
}

function LoginQuestion({ question: { url, answer } }: { question: Question & { kind: 'login' } }) {
  return (
    <Body
      title={`Log in to ${serverName.value === 'Server' ? 'the server' : serverName.value}`}
      foot={
        <button type="button" onClick={() => answer()}>
          Cancel
        </button>
      }
    >
      <p class="prose">The server needs a login. This dialog closes when you are done there.</p>
      <Place url={url} label="Log in at" onOpen={() => {}} />
    </Body>
  );
}

function SampleQuestion({ question }: { question: Question & { kind: 'sample' } }) {
  const { messages, system, maxTokens, models, answer } = question;
  const [text, setText] = useState('');
  const [model, setModel] = useState(models[0] ?? 'human');
  return (
    <Body
      title={`${serverName.value} asks a language model`}
      foot={
        <>
          <button type="button" onClick={() => answer(undefined)}>
            Refuse
          </button>
          <button type="button" class="primary" disabled={text === ''} onClick={() => answer({ text, model })}>
            Send answer
          </button>
        </>
      }
    >
      {system && (
        <p class="prose">
          <b>System prompt:</b> {system}
        </p>
      )}
      <ol class="messages" aria-label="Messages">
        {messages.map(({ role, content }, at) => (
          <li key={at}>
            <p class="role">{role}</p>
            <Blocks blocks={readBlocks(JSON.stringify(content))} />
          </li>
        ))}
      </ol>
      <label class="field">
        <span class="field-name">Answer of the model, up to {maxTokens} tokens</span>
        <textarea rows={4} value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <label class="field">
        <span class="field-name">Model</span>
        <input value={model} onInput={(event) => setModel(event.currentTarget.value)} />
      </label>
    </Body>
  );
}
