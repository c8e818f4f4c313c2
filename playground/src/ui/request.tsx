/** The request: the method and its params. */

import { useComputed } from '@preact/signals';
import { pretty } from '../json/print.js';
import type { Method } from '../rpc/document.js';
import { shortName } from '../schema/words.js';
import { methods, root } from '../state/catalog.js';
import {
  choose,
  described,
  intent,
  isNotification,
  method,
  params,
  problems,
  schema,
  takesList,
  view,
  wantsStream,
  withPlace,
} from '../state/draft.js';
import { isBatch, requestView, send } from '../state/message.js';
import { OWN, endpoint, endpointProblem, transport, version } from '../state/settings.js';
import { addToTray, tray } from '../state/tray.js';
import { toFragment } from '../share.js';
import { BrokenRequest } from './broken.js';
import { Empty } from './controls.js';
import { copy, say } from './copy.js';
import { Editor } from './editor.js';
import { Form } from './form.js';
import { LinkIcon, PlusIcon, SendIcon } from './icons.js';
import { LessonPane } from './lesson.js';
import { MessageBox, RequestViews } from './message.js';
import { showPane } from './panes.js';
import { Tray } from './tray.js';

/** Where there is room, the schemas of a method are shown without being asked for. */
const ROOMY = matchMedia('(min-width: 941px) and (min-height: 800px)');

export function RequestPane() {
  return (
    <main class="pane request" aria-label="Request">
      {view.value === 'broken' ? <BrokenRequest /> : view.value === 'lesson' ? <LessonPane /> : <CallRequest />}
    </main>
  );
}

function CallRequest() {
  return (
    <div class="pane-scroll">
      <MethodHead />
      <RequestViews />
      {requestView.value === 'message' ? (
        <MessageBox />
      ) : method.value === '' ? (
        <Empty title="Choose a method">
          <p>Choose one from the list, or type its name above.</p>
        </Empty>
      ) : (
        <Params />
      )}
      <Tray />
      <Actions />
    </div>
  );
}

function MethodHead() {
  const known = described.value;
  return (
    <div class="method-head">
      <label class="unseen" for="method">
        Method
      </label>
      <input
        id="method"
        class="method-name mono"
        list="method-names"
        placeholder="Method"
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        value={method.value}
        onInput={(event) => {
          const name = event.currentTarget.value;
          if (methods.value.some((known) => known.name === name)) choose(name);
          else method.value = name;
        }}
      />
      <datalist id="method-names">
        {methods.value.map(({ name }) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {known && <MethodDocs method={known} />}
    </div>
  );
}

function MethodDocs({ method }: { method: Method }) {
  const { summary, description, marks, deprecated, tool } = method;
  return (
    <div class="method-docs">
      {(marks.length > 0 || tool !== undefined) && (
        <p class="badges">
          {marks.map((mark) => (
            <span class={`badge ${mark}`} key={mark}>
              {mark}
            </span>
          ))}
          {tool !== undefined && (
            <span
              class="badge"
              title={`Clients of the Model Context Protocol call this method as the tool ${tool}. To see it as they do: switchboard inspect ${new URL('/mcp', endpoint.value).href}`}
            >
              tool <span class="mono">{tool}</span>
            </span>
          )}
        </p>
      )}
      {deprecated !== undefined && <p class="note">Deprecated. {deprecated}</p>}
      {summary && <Prose text={summary} />}
      {description && description !== summary && <Prose text={description} />}
      <details class="schema" open={ROOMY.matches}>
        <summary>Params and result</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Type</th>
              <th scope="col">Description</th>
            </tr>
          </thead>
          <tbody>
            {method.params.map((param) => (
              <tr key={param.name}>
                <th scope="row" class="mono">
                  {param.name}
                  {param.rest ? '…' : param.required ? '' : '?'}
                </th>
                <td class="mono">{shortName(param.schema, root.value)}</td>
                <td>{param.description}</td>
              </tr>
            ))}
            <tr>
              <th scope="row">{marks.includes('stream') || marks.includes('subscription') ? 'each item' : 'result'}</th>
              <td class="mono">{method.result === undefined ? 'none' : shortName(method.result, root.value)}</td>
              <td />
            </tr>
            {method.errors.map((error) => (
              <tr key={error.code}>
                <th scope="row" class="mono">
                  {error.code}
                </th>
                <td>error</td>
                <td>{error.message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}

/** Text in paragraphs, with `code` in it. */
export function Prose({ text }: { text: string }) {
  const paragraphs = text.split(/\n\s*\n/);
  return (
    <>
      {paragraphs.map((paragraph, at) => (
        <p key={at} class="prose">
          {paragraph.split(/`([^`]+)`/).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}
        </p>
      ))}
    </>
  );
}

function Params() {
  const known = described.value;
  const hasParams = known === undefined || known.isOpen || known.params.length > 0;
  const knownSchema = useComputed(() => (schema.value === undefined ? undefined : { schema: schema.value, root: root.value }));
  const wrong = problems.value;
  return (
    <div class="params">
      {known && known.params.length > 0 && (
        <Form
          key={known.name}
          params={known.params}
          isList={takesList(known)}
          problems={problems.value}
          root={root.value}
          text={params.value}
          onText={(text) => (params.value = text)}
        />
      )}
      {known && !hasParams && params.value === '' && <p class="muted">This method takes no params.</p>}
      {(hasParams || params.value !== '') && (
        <section class="editor-box" aria-label="Params as JSON">
          <div class="editor-head">
            <h3>Params</h3>
            <span class="muted hint">Ctrl+Space to complete</span>
            <button type="button" class="quiet small" onClick={() => (params.value = pretty(params.value))}>
              Format
            </button>
          </div>
          <Editor
            label="Params as JSON"
            hint={known ? '' : 'Empty, [ … ] or { … }'}
            text={params}
            known={() => knownSchema.value}
            problems={wrong}
          />
          <ul class="problems" aria-label="Problems" aria-live="polite">
            {wrong.map((problem, at) => (
              <li key={at}>{withPlace(problem)}</li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}

function Actions() {
  const isReady = method.value.trim() !== '' && endpointProblem.value === '';
  // The entries of a batch say themselves what they are.
  const isWholeBatch = requestView.value === 'message' && isBatch.value;
  const canSend = isReady || (requestView.value === 'message' && endpointProblem.value === '');
  // One that is described as a stream always is.
  const isStream = described.value?.marks.some((mark) => mark === 'stream' || mark === 'subscription') === true;
  return (
    <div class="actions">
      <button
        type="button"
        class="primary"
        disabled={!canSend}
        onClick={() => {
          if (send()) showPane('answer');
        }}
      >
        <SendIcon /> {isNotification.value && !isWholeBatch ? 'Notify' : 'Send'}
      </button>
      {!isWholeBatch && (
        <label class="check" title="Send it without an id. The server does not answer.">
          <input type="checkbox" checked={isNotification.value} onChange={(event) => (isNotification.value = event.currentTarget.checked)} />
          Notification
        </label>
      )}
      {transport.value === 'ws' && !isStream && !isWholeBatch && (
        <label class="check" title="Ask for a stream, if the method can answer with one">
          <input type="checkbox" checked={wantsStream.value} onChange={(event) => (wantsStream.value = event.currentTarget.checked)} />
          Stream
        </label>
      )}
      <span class="actions-more">
        <button
          type="button"
          class="quiet"
          aria-label="Add to batch"
          disabled={!isReady || version.value === '1.0'}
          title={version.value === '1.0' ? '1.0 has no batches' : 'Add this call to a batch'}
          onClick={() => {
            addToTray(intent.value);
            say(`Added to the batch (${tray.value.length})`);
          }}
        >
          <PlusIcon /> <span class="on-wide">Batch</span>
        </button>
        <button
          type="button"
          class="quiet"
          aria-label="Copy link"
          disabled={!isReady}
          title="Copy a link to this call, without headers and token"
          onClick={() => void share()}
        >
          <LinkIcon /> <span class="on-wide">Link</span>
        </button>
      </span>
    </div>
  );
}

/** Copies a link to the call, and shows it in the address bar. */
async function share(): Promise<void> {
  const fragment = toFragment({
    endpoint: endpoint.value === OWN ? undefined : endpoint.value,
    transport: transport.value,
    version: version.value,
    method: method.value,
    params: params.value,
    isNotification: isNotification.value,
  });
  history.replaceState(null, '', fragment);
  await copy(location.origin + location.pathname + fragment, 'Link');
}
