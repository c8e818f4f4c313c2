/** The dialog to log in and out, which shows who the caller is and what the server lists for them. */

import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Identity, proofName } from '../rpc/identity.js';
import { KIND_NAMES, type LoginKind } from '../rpc/login.js';
import { login, remembers } from '../state/access.js';
import { discovery, methods } from '../state/catalog.js';
import { logIn, logOut, who } from '../state/identity.js';
import { endpoint } from '../state/settings.js';
import { IconButton, Segmented } from './controls.js';
import { say } from './copy.js';
import { CloseIcon, PersonIcon } from './icons.js';

const isOpen = signal(false);
const kind = signal<LoginKind>('token');

const KINDS: readonly { value: LoginKind; label: string; hint: string }[] = [
  { value: 'token', label: 'Token', hint: 'Sent as Authorization: Bearer' },
  { value: 'key', label: 'API key', hint: 'Sent as X-API-Key' },
];

export function openLogin(): void {
  isOpen.value = true;
}

/** Opens the dialog, and shows who is logged in. */
export function LoginButton() {
  const { text, label } = described();
  return (
    <button type="button" class={`account ${isIn() ? 'is-set' : ''}`} aria-label={label} title={label} onClick={openLogin}>
      <PersonIcon />
      <span class="account-name">{text}</span>
    </button>
  );
}

function described(): { text: string; label: string } {
  if (who.value.state === 'known') {
    const { subject } = who.value.identity;
    return { text: subject, label: `Logged in as ${subject}` };
  }
  if (!login.value) return { text: 'Log in', label: 'Log in' };
  if (who.value.state === 'refused') return { text: 'Log in again', label: 'Log in again: the server does not accept your login' };
  const name = KIND_NAMES[login.value.kind];
  return { text: `With ${name}`, label: `Logged in with ${name === 'token' ? 'a' : 'an'} ${name}` };
}

function isIn(): boolean {
  return who.value.state === 'known' || (login.value !== undefined && who.value.state !== 'refused');
}

export function LoginDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
  }, [isOpen.value]);
  if (!isOpen.value) return null;
  const close = () => dialog.current?.close();
  const isAsking = !login.value || who.value.state === 'refused';
  return (
    <dialog ref={dialog} class="dialog login" aria-labelledby="login-title" onClose={() => (isOpen.value = false)}>
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id="login-title">{isIn() ? 'Logged in' : 'Log in'}</h2>
          <IconButton label="Close" onClick={close}>
            <CloseIcon />
          </IconButton>
        </div>
        <Caller />
        {!isAsking ? <Out onDone={close} /> : who.value.state === 'known' ? <Other /> : <Form />}
      </div>
    </dialog>
  );
}

/** Who the server says that the caller is. */
function Caller() {
  const { state } = who.value;
  if (who.value.state === 'known') {
    return (
      <>
        <Facts identity={who.value.identity} />
        {!login.value && (
          <p class="note">
            Your browser sends these credentials by itself: the password that opened this page, or a client certificate.
          </p>
        )}
      </>
    );
  }
  if (state === 'refused' && login.value) return <p class="note">The server no longer accepts your {KIND_NAMES[login.value.kind]}.</p>;
  if (login.value && state === 'silent') {
    return (
      <p class="muted">
        Your {KIND_NAMES[login.value.kind]} is sent with every call. This server does not say who you are: it has no method{' '}
        <code>rpc.whoami</code>.
      </p>
    );
  }
  if (login.value && state === 'failed') return <p class="note">The server could not be asked who you are.</p>;
  return null;
}

function Facts({ identity }: { identity: Identity }) {
  const { subject, proof, agent, roles, scopes, expires } = identity;
  return (
    <dl class="facts">
      <Fact name="Subject">
        <strong class="mono">{subject}</strong>
      </Fact>
      {proof && <Fact name="Proven by">{proofName(proof)}</Fact>}
      {agent !== undefined && (
        <Fact name="Acting program">
          <span class="mono">{agent}</span>
        </Fact>
      )}
      <Fact name="Roles">
        <Names names={roles} />
      </Fact>
      <Fact name="Scopes">
        <Names names={scopes} />
      </Fact>
      <Fact name="Expires">
        {expires ? <time dateTime={expires.toISOString()}>{moment(expires)}</time> : <span class="muted">does not expire</span>}
      </Fact>
      {discovery.value.state === 'ready' && (
        <Fact name="Methods">
          <p>{methods.value.length} listed for you. Switchboard servers list only what you may call.</p>
          <ul class="names method-names" aria-label="Methods listed for you" tabIndex={0}>
            {methods.value.map(({ name }) => (
              <li key={name} class="mono">
                {name}
              </li>
            ))}
          </ul>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Names({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="names">
      {names.map((name) => (
        <li key={name} class="badge mono">
          {name}
        </li>
      ))}
    </ul>
  );
}

/** A time that is read at a glance. */
function moment(time: Date): string {
  const text = time.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
  return time.getTime() < Date.now() ? `${text} (expired)` : text;
}

/** The form, where the browser has logged in by itself. */
function Other() {
  return (
    <details class="schema">
      <summary>Use other credentials instead</summary>
      <Form />
    </details>
  );
}

function Form() {
  const [typed, setTyped] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const submit = async () => {
    setBusy(true);
    const found = (await logIn(kind.value, typed)) ?? '';
    setBusy(false);
    setProblem(found);
    if (found !== '') input.current?.focus();
  };
  useEffect(() => input.current?.focus(), []);
  return (
    <form
      class="login-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void submit();
      }}
    >
      <Segmented
        label="Kind of credential"
        choices={KINDS}
        value={kind.value}
        onChoose={(value) => {
          kind.value = value;
          setProblem('');
        }}
      />
      <div class="field">
        <label for="credential">
          <span class="field-name">Your {KIND_NAMES[kind.value]}</span>
        </label>
        <input
          id="credential"
          ref={input}
          type="password"
          autocomplete="off"
          autofocus
          class="mono"
          value={typed}
          aria-invalid={problem !== ''}
          aria-describedby="credential-hint credential-problem"
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setProblem('');
          }}
        />
        <p id="credential-problem" class="field-problem" role="alert">
          {problem}
        </p>
        <p id="credential-hint" class="field-hint">
          Sent to <code>{endpoint.value}</code> only: as <code>{kind.value === 'token' ? 'Authorization: Bearer' : 'X-API-Key'}</code>, and
          over a WebSocket as a subprotocol. It never appears in links, code or the history.
        </p>
      </div>
      <div class="dialog-foot">
        <Remember />
        <span class="spacer" />
        <button type="submit" class="primary" disabled={isBusy}>
          Log in
        </button>
      </div>
    </form>
  );
}

/** Whether a reload of the page keeps the login. */
export function Remember() {
  return (
    <label class="check">
      <input type="checkbox" checked={remembers.value} onChange={(event) => (remembers.value = event.currentTarget.checked)} />
      Keep until this tab is closed
    </label>
  );
}

function Out({ onDone }: { onDone: () => void }) {
  const done = useRef<HTMLButtonElement>(null);
  // The form that had the focus is gone.
  useEffect(() => done.current?.focus(), []);
  const out = async () => {
    await logOut();
    say('Logged out');
  };
  return (
    <div class="dialog-foot">
      <button type="button" onClick={() => void out()}>
        Log out
      </button>
      <span class="spacer" />
      <button ref={done} type="button" class="primary" onClick={onDone}>
        Done
      </button>
    </div>
  );
}

/** What to do about a call that was refused because of who called. */
export function LoginOffer() {
  if (who.value.state === 'known') {
    return (
      <p class="login-offer">
        <span>
          You are logged in as <strong>{who.value.identity.subject}</strong>.
        </span>
        <button type="button" class="small" onClick={openLogin}>
          Show what you may call
        </button>
      </p>
    );
  }
  return (
    <p class="login-offer">
      <button type="button" class="small" onClick={openLogin}>
        {login.value ? 'Log in again' : 'Log in'}
      </button>
    </p>
  );
}
