/** The answer: read, as it went over the wire, and the request as code. */

import { signal } from '@preact/signals';
import type { Exchange } from '../rpc/exchange.js';
import { isStale, log, show, shown, summary } from '../state/traffic.js';
import { amount, time } from './amounts.js';
import { VerdictCard } from './broken.js';
import { Code } from './code.js';
import { Empty, Tabs } from './controls.js';
import { Diagram } from './diagram.js';
import { StopIcon } from './icons.js';
import { Pushes } from './pushes.js';
import { Response } from './whole.js';
import { Wire } from './wire.js';

type Tab = 'result' | 'wire' | 'diagram' | 'code';
const tab = signal<Tab>('result');

const TABS: readonly { value: Tab; label: string }[] = [
  { value: 'result', label: 'Result' },
  { value: 'wire', label: 'Wire' },
  { value: 'diagram', label: 'Diagram' },
  { value: 'code', label: 'Code' },
];

export function AnswerPane() {
  const exchange = shown.value;
  // Code is of the request at hand, and a diagram of all of them.
  const isOld = isStale.value && tab.value !== 'code' && tab.value !== 'diagram';
  return (
    <aside class="pane answer" aria-label="Answer">
      <div class="answer-head">
        <Tabs label="Answer views" tabs={TABS} value={tab.value} onChoose={(value) => (tab.value = value)} panel="answer-panel" />
        <Past />
      </div>
      {exchange && isOld && <p class="stale-note">Earlier answer: {exchange.sent.title}</p>}
      {exchange && tab.value !== 'code' && <Status exchange={exchange} />}
      <div id="answer-panel" role="tabpanel" class={`pane-scroll ${isOld ? 'stale' : ''}`}>
        {tab.value === 'code' ? (
          <Code />
        ) : exchange === undefined ? (
          <Empty title="No request sent yet">
            <p>
              The answer appears here.
              <span class="hint-keys">
                {' '}
                Press{' '}
                <span class="keys">
                  <kbd>Ctrl</kbd> <kbd>Enter</kbd>
                </span>{' '}
                anywhere to send.
              </span>
            </p>
          </Empty>
        ) : tab.value === 'result' ? (
          <>
            {exchange.sent.isBroken && <VerdictCard exchange={exchange} />}
            <Response exchange={exchange} />
          </>
        ) : tab.value === 'diagram' ? (
          <Diagram exchange={exchange} />
        ) : (
          <Wire exchange={exchange} />
        )}
      </div>
      <Pushes />
    </aside>
  );
}

/** The last requests, to go back to. */
function Past() {
  if (log.value.length < 2) return null;
  return (
    <select
      class="past"
      aria-label="Sent this session"
      title="Sent this session"
      value={String(shown.value?.key)}
      onChange={(event) => show(log.value.find(({ key }) => String(key) === event.currentTarget.value)!)}
    >
      {log.value.map((exchange) => (
        <option key={exchange.key} value={String(exchange.key)}>
          {`${exchange.sent.title}, ${exchange.clock.toLocaleTimeString()}`}
        </option>
      ))}
    </select>
  );
}

function Status({ exchange }: { exchange: Exchange }) {
  void exchange.revision.value;
  const { outcome, isFailure } = summary(exchange);
  const { http, endedAt, bytes, stop } = exchange;
  const isOpen = endedAt === undefined;
  return (
    <div class="status">
      <span class={`chip ${isOpen || exchange.sent.isBroken ? 'open' : isFailure ? 'bad' : 'good'}`}>
        {http && <span class="mono">{http.status} </span>}
        {exchange.failure ? 'failed' : outcome}
      </span>
      <span class="mono muted" data-testid="timing">
        {endedAt === undefined ? '…' : time(endedAt)}
      </span>
      <span class="mono muted" data-testid="size">
        ↑ {amount(exchange.sent.bytes)} ↓ {amount(bytes)}
      </span>
      <span class="spacer" />
      {isOpen && stop && (
        <button type="button" class="small" onClick={() => stop()}>
          <StopIcon /> Stop
        </button>
      )}
    </div>
  );
}
