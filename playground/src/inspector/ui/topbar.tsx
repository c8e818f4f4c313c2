/** Where the page is connected to. */

import { Logo, StopIcon } from '../../ui/icons.js';
import { ThemeButton } from '../../ui/theme.js';
import { showPane } from '../../ui/panes.js';
import { chosen } from '../draft.js';
import { about, address, connect, connecting, disconnect, phase, problem, serverName } from '../session.js';

export function TopBar() {
  return (
    <header class="topbar">
      <div class="brand">
        <Logo />
        <h1>
          Switchboard <span class="brand-more">inspector</span>
        </h1>
      </div>
      <form
        class="endpoint address"
        onSubmit={(event) => {
          event.preventDefault();
          void connect();
        }}
      >
        <input
          aria-label="MCP server"
          placeholder="URL of an MCP server"
          spellcheck={false}
          autocomplete="off"
          value={address.value}
          onInput={(event) => (address.value = event.currentTarget.value)}
        />
        <Buttons />
        <div class="problem" role="alert">
          {problem.value && (
            <>
              {problem.value.title}
              {problem.value.advice && <span class="muted"> {problem.value.advice}</span>}
            </>
          )}
        </div>
      </form>
      <div class="topbar-modes">
        <Status />
      </div>
      <div class="topbar-tools">
        <ThemeButton />
      </div>
    </header>
  );
}

function Buttons() {
  const controller = connecting.value;
  if (controller) {
    return (
      <button type="button" onClick={() => controller.abort()}>
        <StopIcon /> Cancel
      </button>
    );
  }
  const isSame = about.value?.url === address.value.trim();
  if (!isSame) return <button disabled={address.value.trim() === '' || phase.value !== 'open'}>Connect</button>;
  return (
    <>
      <button class="on-wide">Reconnect</button>
      <button type="button" onClick={() => void disconnect()}>
        Disconnect
      </button>
    </>
  );
}

function Status() {
  const known = about.value;
  const [dot, text] =
    phase.value === 'lost'
      ? ['', 'The command has stopped']
      : phase.value === 'opening' || connecting.value
        ? ['opening', 'Connecting…']
        : known
          ? ['open', serverName.value]
          : ['', 'Not connected'];
  return (
    <button
      type="button"
      class="quiet server-button"
      title="About the server"
      disabled={!known}
      onClick={() => {
        chosen.value = undefined;
        showPane('request');
      }}
    >
      <span class={`dot ${dot}`} />
      <span role="status" class="server-name">
        {text}
      </span>
      {known && <span class="badge">{known.revision}</span>}
    </button>
  );
}
