/** What is chosen, and its arguments. */

import { signal } from '@preact/signals';
import { pretty } from '../../json/print.js';
import { Empty, Segmented } from '../../ui/controls.js';
import { Form } from '../../ui/form.js';
import { SendIcon } from '../../ui/icons.js';
import { JsonView } from '../../ui/json-view.js';
import { send } from '../calls.js';
import { args, chosen, item, problems, requestFor, setArgs, textsOf, withPlace } from '../draft.js';
import type { Item } from '../items.js';
import { has } from '../session.js';
import { expand } from '../template.js';
import { isWatched, watch } from '../watching.js';
import { CompletedForm } from './completed-form.js';
import { ServerView } from './server.js';

type View = 'form' | 'json';
const view = signal<View>('form');
const VIEWS: readonly { value: View; label: string }[] = [
  { value: 'form', label: 'Form' },
  { value: 'json', label: 'JSON' },
];

const VERBS = { tools: 'Call tool', resources: 'Read', templates: 'Read', prompts: 'Get prompt' };

export function RequestPane() {
  const known = item.value;
  return (
    <main class="pane request" aria-label="Request">
      <div class="pane-scroll">{known ? <Prepared item={known} /> : chosen.value ? <Gone /> : <ServerView />}</div>
    </main>
  );
}

/** Sends what is chosen. */
export function sendChosen(): void {
  const known = item.value;
  if (!known || problems.value.some(({ path }) => path.length === 0)) return;
  const text = args.value;
  const { method, params } = requestFor(known, text);
  const title = known.kind === 'templates' ? expand(known.id, textsOf(text)) : known.name;
  send(method, params, title, { kind: known.kind, id: known.id, args: text });
}

function Gone() {
  return (
    <Empty title="This is not offered any more">
      <p>The server has changed its list.</p>
    </Empty>
  );
}

function Prepared({ item }: { item: Item }) {
  const wrong = problems.value;
  const isJson = view.value === 'json' && item.kind === 'tools' && item.params.length > 0;
  return (
    <>
      <Head item={item} />
      {(item.params.length > 0 || item.kind === 'tools') && (
        <section class="arguments" aria-label="Arguments">
          <div class="result-tools">
            <h3>{item.kind === 'templates' ? 'Variables' : 'Arguments'}</h3>
            <span class="spacer" />
            {item.kind === 'tools' && item.params.length > 0 && (
              <Segmented label="Arguments as" choices={VIEWS} value={view.value} onChoose={(value) => (view.value = value)} />
            )}
          </div>
          {isJson ? <Text /> : <Fields item={item} />}
        </section>
      )}
      {item.kind === 'templates' && <p class="mono expanded">{expand(item.id, textsOf(args.value))}</p>}
      <div class="actions">
        <button type="button" class="primary" disabled={wrong.some(({ path }) => path.length === 0)} onClick={sendChosen}>
          <SendIcon /> {VERBS[item.kind]}
        </button>
        {item.kind === 'resources' && has('resources', 'subscribe') && <Watch uri={item.id} />}
        {wrong.length > 0 && <span class="bad problem-line">{withPlace(wrong[0]!)}</span>}
      </div>
    </>
  );
}

function Fields({ item }: { item: Item }) {
  if (item.params.length === 0) return <p class="muted">It takes no arguments.</p>;
  if (item.kind !== 'tools') return <CompletedForm key={item.id} item={item} />;
  return <Form key={item.id} params={item.params} problems={problems.value} root={item.schema} text={args.value} onText={setArgs} />;
}

/** The arguments as text. */
function Text() {
  return (
    <textarea
      class="mono json-text"
      aria-label="Arguments as JSON"
      spellcheck={false}
      rows={Math.min(20, Math.max(6, args.value.split('\n').length + 1))}
      value={args.value}
      onInput={(event) => setArgs(event.currentTarget.value)}
      onBlur={() => setArgs(problems.value.some(({ path }) => path.length === 0) ? args.value : pretty(args.value))}
    />
  );
}

function Head({ item }: { item: Item }) {
  return (
    <div class="method-head">
      <h2 class="mono item-name">{item.name}</h2>
      <div class="method-docs">
        {(item.badges.length > 0 || item.title || item.mimeType) && (
          <p class="badges">
            {item.title && <span>{item.title}</span>}
            {item.badges.map((badge) => (
              <span class={`badge ${badge === 'destructive' ? 'deprecated' : ''}`} key={badge} title="What the server says about itself">
                {badge}
              </span>
            ))}
            {item.mimeType && <span class="badge">{item.mimeType}</span>}
          </p>
        )}
        {item.id !== item.name && <p class="mono muted uri">{item.id}</p>}
        {item.description && <p class="prose described">{item.description}</p>}
        <details class="schema">
          <summary>As the server describes it</summary>
          <JsonView text={item.raw} label="Description as JSON" />
        </details>
      </div>
    </div>
  );
}

function Watch({ uri }: { uri: string }) {
  return (
    <label class="check small">
      <input type="checkbox" checked={isWatched(uri)} onChange={(event) => void watch(uri, event.currentTarget.checked)} />
      Watch for changes
    </label>
  );
}
