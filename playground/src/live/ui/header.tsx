/** Which server this is, and whether it answers. */

import { signal } from '@preact/signals';
import { Segmented } from '../../ui/controls.js';
import { Logo } from '../../ui/icons.js';
import { ThemeButton } from '../../ui/theme.js';
import { type Phase, connect, info, isLive, phase } from '../connection.js';
import { age } from '../format.js';
import { chosenSpan, latest, serverNow } from '../numbers.js';

/** Grows every second, for what depends on the clock alone. */
const second = signal(0);
setInterval(() => (second.value += 1), 1000);

const SPANS = [
  { value: '60000', label: '1 min' },
  { value: '300000', label: '5 min' },
  { value: '900000', label: '15 min' },
] as const;

export function Header() {
  return (
    <header class="live-head">
      <div class="brand">
        <Logo />
        <h1>
          Switchboard <span class="brand-more">live</span>
        </h1>
      </div>
      <Status />
      <Server />
      <div class="live-tools">
        <Segmented
          label="Time shown"
          choices={SPANS}
          value={String(chosenSpan.value) as (typeof SPANS)[number]['value']}
          onChoose={(value) => (chosenSpan.value = Number(value))}
        />
        <ThemeButton />
      </div>
    </header>
  );
}

function Status() {
  void second.value;
  const { state } = phase.value;
  const dot = { connecting: 'opening', live: 'open', lost: 'failed', stopped: 'failed', locked: '' }[state];
  return (
    <div class={`status-pill is-${state}`}>
      <span class={`dot ${dot}`} aria-hidden="true" />
      <span role="status">{words(state)}</span>
      {'retryAt' in phase.value && (
        <>
          <span class="retry" aria-hidden="true">
            {countdown(phase.value.retryAt)}
          </span>
          <button type="button" class="quiet small" onClick={() => void connect()}>
            Try now
          </button>
        </>
      )}
    </div>
  );
}

function words(state: Phase['state']): string {
  return {
    connecting: 'Connecting…',
    live: 'Live',
    lost: 'Connection lost – retrying',
    stopped: 'Server stopped',
    locked: 'Token required',
  }[state];
}

function countdown(retryAt: number): string {
  const seconds = Math.ceil((retryAt - performance.now()) / 1000);
  return seconds > 0 ? `in ${seconds} s` : 'now';
}

function Server() {
  void second.value;
  if (!info.value) return <dl class="server" />;
  const { version, pid, startedAt, draining, listeners, config } = info.value;
  // The server may not be running any more.
  const now = isLive.value ? serverNow() : (latest?.t ?? startedAt);
  const since = new Date(startedAt).toLocaleString('en-GB');
  return (
    <dl class="server">
      {draining && (
        <div>
          <dt class="unseen">State</dt>
          <dd class="chip bad">Draining</dd>
        </div>
      )}
      <Fact name="Version">{version}</Fact>
      <Fact name="PID">{pid}</Fact>
      <Fact name={listeners.length === 1 ? 'Listener' : 'Listeners'} title={listeners.join('\n')} class="listeners">
        {listeners.join(', ') || 'none'}
      </Fact>
      {config?.path && (
        <Fact name="Config" title={config.error ?? config.path} class="listeners">
          {config.path}
        </Fact>
      )}
      {config?.error && <Fact name="Config errors">{config.error}</Fact>}
      <Fact name="Up" title={`Since ${since}`}>
        {age(now - startedAt)}
      </Fact>
    </dl>
  );
}

function Fact(props: { name: string; title?: string; class?: string; children: preact.ComponentChildren }) {
  return (
    <div class={props.class} title={props.title}>
      <dt>{props.name}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}
