/** About the server: what it is, what it may know, and any other request. */

import { signal } from '@preact/signals';
import { parse } from '../../json/parse.js';
import { Empty } from '../../ui/controls.js';
import { say } from '../../ui/copy.js';
import { SendIcon } from '../../ui/icons.js';
import { JsonView } from '../../ui/json-view.js';
import { send } from '../calls.js';
import { CallFailed } from '../link.js';
import { type About, about, call, connecting, has, problem, serverName } from '../session.js';

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

const roots = signal('');
const level = signal('info');
const method = signal('ping');
const params = signal('{}');

export function ServerView() {
  const known = about.value;
  if (known) return <Known about={known} />;
  if (connecting.value) return <Empty title="Connecting…" />;
  return (
    <Empty title={problem.value ? problem.value.title : 'Not connected'}>
      <p>{problem.value?.advice ?? 'Enter the URL of an MCP server above, such as http://127.0.0.1:8000/mcp.'}</p>
    </Empty>
  );
}

function Known({ about: { url, revision, stateless, server, instructions, capabilities } }: { about: About }) {
  return (
    <>
      <div class="method-head">
        <h2>{serverName.value}</h2>
        <p class="badges">
          {server?.version && <span class="badge">version {server.version}</span>}
          <span class="badge">MCP {revision}</span>
          <span class="badge">{stateless ? 'without sessions' : 'with a session'}</span>
        </p>
        <p class="mono muted uri">{url}</p>
      </div>
      {instructions && (
        <section>
          <h3>Instructions</h3>
          <p class="prose described">{instructions}</p>
        </section>
      )}
      <section class="about">
        <h3>Capabilities</h3>
        <JsonView text={JSON.stringify(capabilities)} label="Capabilities" />
      </section>
      {has('logging') && !stateless && <Level />}
      <Roots />
      <Other />
    </>
  );
}

function Level() {
  return (
    <section class="about">
      <h3>
        <label for="level">Log level</label>
      </h3>
      <select
        id="level"
        value={level.value}
        onChange={(event) => {
          level.value = event.currentTarget.value;
          void told('inspect/log_level', { level: level.value }, `Log level set to ${level.value}`);
        }}
      >
        {LEVELS.map((each) => (
          <option key={each}>{each}</option>
        ))}
      </select>
    </section>
  );
}

function Roots() {
  return (
    <section class="about">
      <h3>
        <label for="roots">Roots</label>
      </h3>
      <p class="field-hint">The folders that the server may ask for: a file: URI on each line.</p>
      <textarea
        id="roots"
        class="mono"
        rows={3}
        spellcheck={false}
        placeholder="file:///home/me/project"
        value={roots.value}
        onInput={(event) => (roots.value = event.currentTarget.value)}
      />
      <div>
        <button
          type="button"
          onClick={() => {
            const uris = roots.value.split('\n').flatMap((line) => line.trim() || []);
            const list = uris.map((uri) => ({ uri, name: null }));
            void told('inspect/roots', { roots: list }, `The server can ask for ${uris.length} ${uris.length === 1 ? 'root' : 'roots'}`);
          }}
        >
          Set roots
        </button>
      </div>
    </section>
  );
}

/** Any request, for what the page has no form for. */
function Other() {
  const isObject = parse(params.value).node?.kind === 'object';
  return (
    <form
      class="about"
      onSubmit={(event) => {
        event.preventDefault();
        if (isObject) send(method.value, params.value, method.value);
      }}
    >
      <h3>Any other request</h3>
      <label class="field">
        <span class="field-name">Method</span>
        <input class="mono" spellcheck={false} value={method.value} onInput={(event) => (method.value = event.currentTarget.value)} />
      </label>
      <label class="field">
        <span class="field-name">Params</span>
        <textarea class="mono" rows={3} spellcheck={false} value={params.value} onInput={(event) => (params.value = event.currentTarget.value)} />
        {!isObject && <span class="field-problem">must be an object</span>}
      </label>
      <div>
        <button disabled={!isObject || method.value === ''}>
          <SendIcon /> Send request
        </button>
      </div>
    </form>
  );
}

async function told(name: string, value: unknown, done: string): Promise<void> {
  try {
    await call(name, value);
    say(done);
  } catch (error) {
    say(error instanceof CallFailed ? error.message : String(error));
  }
}
