/** What became of a request, every message, and what the server says by itself. */

import { effect, signal } from '@preact/signals';
import { compact } from '../../json/print.js';
import { time } from '../../ui/amounts.js';
import { Empty, Segmented, Tabs } from '../../ui/controls.js';
import { CopyButton } from '../../ui/copy.js';
import { StopIcon } from '../../ui/icons.js';
import { JsonView } from '../../ui/json-view.js';
import { meaning } from '../../rpc/errors.js';
import { type Sent, hasFailed, shown, wordOf } from '../calls.js';
import { clearEvents, events, unseen } from '../events.js';
import { Rendered } from './result.js';
import { Messages } from './messages.js';

type Tab = 'result' | 'messages' | 'events';
const tab = signal<Tab>('result');

type View = 'rendered' | 'json';
const view = signal<View>('rendered');
const VIEWS: readonly { value: View; label: string }[] = [
  { value: 'rendered', label: 'Rendered' },
  { value: 'json', label: 'JSON' },
];

export function AnswerPane() {
  const tabs = [
    { value: 'result' as const, label: 'Result' },
    { value: 'messages' as const, label: 'Messages' },
    { value: 'events' as const, label: unseen.value > 0 && tab.value !== 'events' ? `Log (${unseen.value})` : 'Log' },
  ];
  const sent = shown.value;
  return (
    <aside class="pane answer" aria-label="Answer">
      <div class="answer-head">
        <Tabs label="Answer views" tabs={tabs} value={tab.value} onChoose={(value) => (tab.value = value)} panel="answer-panel" />
      </div>
      {tab.value === 'result' && sent && <Status sent={sent} />}
      <div id="answer-panel" role="tabpanel" class="pane-scroll">
        {/* It stays, so that the view of a tool goes on. */}
        <div class="answer-part" hidden={tab.value !== 'result'}>
          {sent ? <Answer sent={sent} /> : <Nothing />}
        </div>
        {tab.value === 'messages' && <Messages />}
        {tab.value === 'events' && <Events />}
      </div>
    </aside>
  );
}

function Nothing() {
  return (
    <Empty title="No request sent yet">
      <p>Choose a tool, a resource or a prompt. Its answer appears here.</p>
    </Empty>
  );
}

function Status({ sent }: { sent: Sent }) {
  const outcome = sent.outcome.value;
  const isOpen = outcome.kind === 'waiting';
  return (
    <div class="status">
      <span class={`chip ${isOpen ? 'open' : hasFailed(outcome) ? 'bad' : outcome.kind === 'stopped' ? '' : 'good'}`}>{wordOf(outcome)}</span>
      <span class="mono muted" data-testid="timing">
        {outcome.kind === 'waiting' ? '…' : time(outcome.ms)}
      </span>
      <span class="mono muted cut">{sent.title}</span>
      <span class="spacer" />
      {isOpen && (
        <button type="button" class="small" onClick={sent.stop}>
          <StopIcon /> Stop
        </button>
      )}
    </div>
  );
}

function Answer({ sent }: { sent: Sent }) {
  const outcome = sent.outcome.value;
  return (
    <>
      <Progresses sent={sent} />
      {outcome.kind === 'waiting' && sent.progress.value.length === 0 && <Empty title="Waiting for the answer…" />}
      {outcome.kind === 'stopped' && <Empty title="Stopped before the server answered" />}
      {outcome.kind === 'error' && (
        <section class="error-card" aria-label="Error">
          <p class="error-line">
            <span class="error-code mono">{outcome.error.code ?? ''}</span> {outcome.error.message}
          </p>
          {outcome.error.code !== undefined && outcome.error.code < 0 && <p class="muted">{meaning(outcome.error.code)}</p>}
          {outcome.error.data !== undefined && <JsonView text={outcome.error.data} label="Error data" />}
        </section>
      )}
      {outcome.kind === 'result' && (
        <section class="result" aria-label="Result">
          <div class="result-tools">
            <Segmented label="Result as" choices={VIEWS} value={view.value} onChoose={(value) => (view.value = value)} />
            <span class="spacer" />
            <CopyButton text={compact(outcome.text)} what="Result" />
          </div>
          {view.value === 'json' ? <JsonView text={outcome.text} label="Result as JSON" /> : <Rendered sent={sent} text={outcome.text} />}
        </section>
      )}
    </>
  );
}

/** How far a request has come. */
function Progresses({ sent }: { sent: Sent }) {
  const all = sent.progress.value;
  const last = all.at(-1);
  if (!last) return null;
  const said = all.filter(({ message }) => message !== null);
  return (
    <section class="progress" aria-label="Progress">
      <div class="progress-line">
        <progress {...(last.total === null ? {} : { value: last.progress, max: last.total })} />
        <span class="mono">
          {last.progress}
          {last.total !== null && ` of ${last.total}`}
        </span>
      </div>
      {said.length > 0 && (
        <ol class="items" aria-label="Progress messages" tabIndex={0}>
          {said.map(({ progress, message }, at) => (
            <li key={at}>
              <span class="item-time mono">{progress}</span>
              <span>{message}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Events() {
  if (events.value.length === 0) {
    return (
      <Empty title="Nothing logged yet">
        <p>Log messages of the server appear here, and changes of its lists and of resources that you watch.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="result-tools">
        <span class="spacer" />
        <button type="button" class="quiet small" onClick={clearEvents}>
          Clear
        </button>
      </div>
      <ol class="events" aria-label="Log">
        {events.value.map(({ at, level, logger, text }, index) => (
          <li key={index}>
            <time class="item-time mono" dateTime={at.toISOString()}>
              {at.toLocaleTimeString()}
            </time>
            <span class={`badge level-${level}`}>{level}</span>
            <span class="event-text">
              {logger && <span class="muted mono">{logger} </span>}
              {text}
            </span>
          </li>
        ))}
      </ol>
    </>
  );
}

effect(() => {
  if (tab.value === 'events' && events.value.length > 0) unseen.value = 0;
});

let last: Sent | undefined;
effect(() => {
  // A new request is shown with its result, not with what was looked at before.
  if (shown.value && shown.value !== last && tab.peek() === 'events') tab.value = 'result';
  last = shown.value;
});
