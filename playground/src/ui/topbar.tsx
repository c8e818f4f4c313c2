/** Where calls go and how they are sent. */

import { useState } from 'preact/hooks';
import { TRANSPORTS, readEndpoint } from '../rpc/endpoint.js';
import type { Version } from '../rpc/message.js';
import { discover } from '../state/catalog.js';
import { reshape } from '../state/draft.js';
import { past } from '../state/history.js';
import { OWN, type Theme, endpoint, headers, theme, transport, version } from '../state/settings.js';
import { disconnect, linkState } from '../state/traffic.js';
import { IconButton, Segmented } from './controls.js';
import { say } from './copy.js';
import { openHeaders } from './headers.js';
import { AutoIcon, KeyIcon, Logo, MoonIcon, SunIcon } from './icons.js';

const VERSIONS: readonly { value: Version; label: string; hint: string }[] = [
  { value: '2.0', label: '2.0', hint: 'JSON-RPC 2.0' },
  { value: '1.0', label: '1.0', hint: 'JSON-RPC 1.0: params are a list, there are no batches' },
];

const THEMES: Readonly<Record<Theme, { next: Theme; icon: () => preact.JSX.Element; label: string }>> = {
  auto: { next: 'light', icon: AutoIcon, label: 'Colours of the system' },
  light: { next: 'dark', icon: SunIcon, label: 'Light colours' },
  dark: { next: 'auto', icon: MoonIcon, label: 'Dark colours' },
};

export function TopBar() {
  const { next, icon: ThemeIcon, label } = THEMES[theme.value];
  const count = headers.value.length;
  return (
    <header class="topbar">
      <div class="brand">
        <Logo />
        <h1>
          Switchboard <span class="brand-more">playground</span>
        </h1>
      </div>
      <Endpoint />
      <div class="topbar-tools">
        <IconButton
          label={count > 0 ? `Headers and token: ${count} set` : 'Headers and token'}
          onClick={openHeaders}
          class={count > 0 ? 'is-set' : ''}
        >
          <KeyIcon />
        </IconButton>
        <IconButton label={`${label}. Change`} onClick={() => (theme.value = next)}>
          <ThemeIcon />
        </IconButton>
      </div>
      <div class="topbar-modes">
        <Segmented label="Transport" choices={TRANSPORTS} value={transport.value} onChoose={(value) => (transport.value = value)} />
        <Segmented
          label="Version of JSON-RPC"
          choices={VERSIONS}
          value={version.value}
          onChoose={(value) => {
            version.value = value;
            reshape(value === '1.0');
          }}
        />
        <LinkStatus />
      </div>
    </header>
  );
}

function Endpoint() {
  const [problem, setProblem] = useState('');
  const apply = (typed: string) => {
    const read = readEndpoint(typed === '' ? OWN : typed, location.href);
    if ('problem' in read) return setProblem(read.problem);
    setProblem('');
    if (read.url.href === endpoint.value) return undefined;
    if (read.url.protocol.startsWith('ws')) transport.value = 'ws';
    endpoint.value = read.url.href;
    say(`Calls go to ${read.url.host}`);
    return void discover();
  };
  const known = [...new Set([OWN, ...past.value.map((entry) => entry.endpoint)])].slice(0, 12);
  return (
    <div class="endpoint">
      <label class="unseen" for="endpoint">
        Endpoint
      </label>
      <input
        id="endpoint"
        type="url"
        class="mono"
        list="endpoints"
        spellcheck={false}
        autocomplete="off"
        value={endpoint.value}
        aria-invalid={problem !== ''}
        aria-describedby="endpoint-problem"
        onChange={(event) => apply(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) apply(event.currentTarget.value);
        }}
      />
      <datalist id="endpoints">
        {known.map((url) => (
          <option key={url} value={url} />
        ))}
      </datalist>
      <p id="endpoint-problem" class="problem" role="alert">
        {problem}
      </p>
    </div>
  );
}

function LinkStatus() {
  if (transport.value !== 'ws') return null;
  const words = { closed: 'not connected', opening: 'connecting', open: 'connected' }[linkState.value];
  return (
    <span class="link-status">
      <span class={`dot ${linkState.value}`} aria-hidden="true" />
      <span role="status">{words}</span>
      {linkState.value === 'open' && (
        <button type="button" class="quiet small" onClick={disconnect}>
          Disconnect
        </button>
      )}
    </span>
  );
}
