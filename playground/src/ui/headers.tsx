/** The dialog for headers. */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { type Header, looksSecret, ownHeaders, setOwnHeaders } from '../state/access.js';
import { refresh } from '../state/identity.js';
import { endpoint, transport } from '../state/settings.js';
import { IconButton } from './controls.js';
import { CloseIcon, PlusIcon } from './icons.js';
import { Remember } from './login.js';

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
  const done = () => {
    isOpen.value = false;
    // What a server shows may depend on who asks.
    void refresh();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="headers-title" onClose={done}>
      <form method="dialog" class="dialog-body">
        <div class="dialog-head">
          <h2 id="headers-title">Headers</h2>
          <IconButton label="Close" onClick={() => dialog.current?.close()}>
            <CloseIcon />
          </IconButton>
        </div>
        <p class="muted">
          Sent to <code>{endpoint.value}</code> only.
        </p>
        {transport.value === 'ws' && (
          <p class="note">Browsers do not let a page set headers on a WebSocket. They are sent with HTTP and SSE only. A login is sent over a WebSocket too.</p>
        )}
        <HeaderRows headers={ownHeaders.value} onChange={setOwnHeaders} />
        <Remember />
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
            placeholder="X-Trace-Id"
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
