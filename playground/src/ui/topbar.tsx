/** Where calls go and how they are sent. */

import { useEffect, useState } from 'preact/hooks';
import { TRANSPORTS, readEndpoint } from '../rpc/endpoint.js';
import type { Version } from '../rpc/message.js';
import { ownHeaders } from '../state/access.js';
import { discovery } from '../state/catalog.js';
import { reshape } from '../state/draft.js';
import { past } from '../state/history.js';
import { refresh } from '../state/identity.js';
import { OWN, endpoint, endpointProblem, transport, version } from '../state/settings.js';
import { disconnect, linkState } from '../state/traffic.js';
import { IconButton, Segmented } from './controls.js';
import { say } from './copy.js';
import { openHeaders } from './headers.js';
import { CloseIcon, HeadersIcon, Logo } from './icons.js';
import { LoginButton } from './login.js';
import { ProxyOffer } from './proxy.js';
import { ThemeButton } from './theme.js';

const VERSIONS: readonly { value: Version; label: string; hint: string }[] = [
  { value: '2.0', label: '2.0', hint: 'JSON-RPC 2.0' },
  { value: '1.0', label: '1.0', hint: 'JSON-RPC 1.0: params are always an array, and there are no batches' },
];

export function TopBar() {
  const count = ownHeaders.value.filter(({ name }) => name.trim() !== '').length;
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
        <LoginButton />
        <IconButton label={count > 0 ? `Headers: ${count} set` : 'Headers'} onClick={openHeaders} class={count > 0 ? 'is-set' : ''}>
          <HeadersIcon />
        </IconButton>
        <ThemeButton />
      </div>
      <div class="topbar-modes">
        <Segmented label="Transport" choices={TRANSPORTS} value={transport.value} onChoose={(value) => (transport.value = value)} />
        <Segmented
          label="JSON-RPC version"
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
  const failure = discovery.value.state === 'failed' ? discovery.value.failure.title : '';
  const problem = endpointProblem.value || failure;
  const [typed, setTyped] = useState<string | undefined>(undefined);
  // Another one may also be chosen from the history.
  useEffect(() => setTyped(undefined), [endpoint.value]);
  const apply = (text: string) => {
    const read = readEndpoint(text === '' ? OWN : text, location.href);
    endpointProblem.value = 'problem' in read ? read.problem : '';
    if ('problem' in read) return undefined;
    setTyped(undefined);
    if (read.url.href === endpoint.value) return undefined;
    if (read.url.protocol.startsWith('ws')) transport.value = 'ws';
    endpoint.value = read.url.href;
    say(`Calling ${read.url.host} from now on`);
    return void refresh();
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
        value={typed ?? endpoint.value}
        aria-invalid={problem !== ''}
        aria-describedby="endpoint-problem"
        onInput={(event) => setTyped(event.currentTarget.value)}
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
      <ProxyOffer />
    </div>
  );
}

function LinkStatus() {
  if (transport.value !== 'ws') return null;
  const words = { closed: 'not connected', opening: 'connecting…', open: 'connected' }[linkState.value];
  return (
    <span class="link-status">
      <span class={`dot ${linkState.value}`} aria-hidden="true" />
      <span role="status">{words}</span>
      {linkState.value === 'open' && (
        <button type="button" class="quiet small" onClick={disconnect}>
          <CloseIcon /> <span>Disconnect</span>
        </button>
      )}
    </span>
  );
}
