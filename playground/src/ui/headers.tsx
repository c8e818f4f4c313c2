/** The dialog for headers and the token. */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { discover } from '../state/catalog.js';
import { type Header, access, endpoint, looksSecret, remembers, setAccess, transport } from '../state/settings.js';
import { IconButton } from './controls.js';
import { CloseIcon, PlusIcon } from './icons.js';

const isOpen = signal(false);

export function openHeaders(): void {
  isOpen.value = true;
}

export function HeadersDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
  }, [isOpen.value]);
  if (!isOpen.value) return null;
  const { token, headers } = access.value;
  const set = (headers: readonly Header[]) => setAccess({ token, headers });
  const done = () => {
    isOpen.value = false;
    // What a server shows may depend on who asks.
    void discover();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="headers-title" onClose={done}>
      <form method="dialog" class="dialog-body">
        <div class="dialog-head">
          <h2 id="headers-title">Headers and token</h2>
          <IconButton label="Close" onClick={() => dialog.current?.close()}>
            <CloseIcon />
          </IconButton>
        </div>
        <p class="muted">
          Sent to <code>{endpoint.value}</code> only.
        </p>
        {transport.value === 'ws' && (
          <p class="note">Browsers do not let a page set headers on a WebSocket. They are sent with HTTP and SSE only.</p>
        )}
        <div class="field">
          <label for="token">
            <span class="field-name">Bearer token</span>
          </label>
          <input
            id="token"
            type="password"
            autocomplete="off"
            class="mono"
            value={token}
            onInput={(event) => setAccess({ token: event.currentTarget.value.trim(), headers })}
          />
        </div>
        <HeaderRows headers={headers} onChange={set} />
        <label class="check">
          <input type="checkbox" checked={remembers.value} onChange={(event) => (remembers.value = event.currentTarget.checked)} />
          <span>
            Keep these in this browser. <span class="muted">Otherwise they are forgotten when you close or reload the page.</span>
          </span>
        </label>
        <div class="dialog-foot">
          <button type="submit" class="primary">
            Done
          </button>
        </div>
      </form>
    </dialog>
  );
}

function HeaderRows({ headers, onChange }: { headers: readonly Header[]; onChange: (headers: readonly Header[]) => void }) {
  const change = (at: number, part: Partial<Header>) =>
    onChange(headers.map((header, index) => (index === at ? { ...header, ...part } : header)));
  return (
    <fieldset class="headers">
      <legend class="field-name">Headers</legend>
      {headers.map((header, at) => (
        <div class="header-row" key={at}>
          <input
            class="mono"
            aria-label={`Name of header ${at + 1}`}
            placeholder="X-Api-Key"
            value={header.name}
            onInput={(event) => {
              const name = event.currentTarget.value;
              change(at, { name, isSecret: looksSecret(name) });
            }}
          />
          <input
            class="mono"
            {...(header.isSecret ? { type: 'password' as const } : {})}
            autocomplete="off"
            aria-label={`Value of header ${at + 1}`}
            placeholder="Value"
            value={header.value}
            onInput={(event) => change(at, { value: event.currentTarget.value })}
          />
          <label class="check small" title="Shown as dots, and never part of code">
            <input type="checkbox" checked={header.isSecret} onChange={(event) => change(at, { isSecret: event.currentTarget.checked })} />
            Secret
          </label>
          <IconButton label={`Remove header ${at + 1}`} onClick={() => onChange(headers.filter((_, index) => index !== at))}>
            <CloseIcon />
          </IconButton>
        </div>
      ))}
      <button type="button" class="quiet small" onClick={() => onChange([...headers, { name: '', value: '', isSecret: false }])}>
        <PlusIcon /> Add header
      </button>
    </fieldset>
  );
}
