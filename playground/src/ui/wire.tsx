/** Request and response exactly as they were sent and received. */

import type { Exchange, Head } from '../rpc/exchange.js';
import { amount, time } from './amounts.js';
import { CopyButton } from './copy.js';
import { JsonView } from './json-view.js';

export function Wire({ exchange }: { exchange: Exchange }) {
  void exchange.revision.value;
  return (
    <div class="wire">
      <Out exchange={exchange} />
      <In exchange={exchange} />
    </div>
  );
}

function Out({ exchange: { sent } }: { exchange: Exchange }) {
  const { pathname, search, host } = new URL(sent.url);
  const line = sent.transport === 'ws' ? `WebSocket ${sent.url}` : `POST ${pathname}${search}`;
  return (
    <section aria-label="Request on the wire">
      <WireHead title="Request" more={amount(sent.bytes)} text={sent.text} />
      <pre class="head" tabIndex={0} role="region" aria-label="Request headers">
        <b>{line}</b>
        <Heads heads={sent.transport === 'ws' ? sent.headers : [{ name: 'Host', value: host }, ...sent.headers]} />
      </pre>
      <JsonView text={sent.text} exact ids label="Text of the request" />
    </section>
  );
}

function In({ exchange }: { exchange: Exchange }) {
  const { http, frames, asides, raw, firstAt, endedAt, bytes, received } = exchange;
  if (!http && frames.length + asides.length === 0) return null;
  const all = [...frames.map(({ at, text }) => ({ at, text, isSent: false })), ...asides].sort((a, b) => a.at - b.at);
  const timing = [
    !http && `${received} received`,
    firstAt !== undefined && `first byte ${time(firstAt)}`,
    endedAt !== undefined && `total ${time(endedAt)}`,
    amount(bytes),
  ];
  const text = raw || all.map((frame) => frame.text).join('\n');
  return (
    <section aria-label="Response on the wire">
      <WireHead title={http ? 'Response' : 'Messages'} more={timing.filter(Boolean).join(' · ')} text={text} />
      {http && (
        <pre class="head" tabIndex={0} role="region" aria-label="Response headers">
          <b>{`${http.status} ${http.reason}`.trim()}</b>
          <Heads heads={http.headers} />
        </pre>
      )}
      {raw ? (
        <JsonView text={raw} exact ids label="Text of the response" />
      ) : http ? (
        text && <JsonView text={text} exact ids label="Text of the response" />
      ) : (
        <ol class="frames">
          {all.map((frame, at) => (
            <li key={at}>
              <span class="item-time mono">
                {frame.isSent ? '↑' : '↓'} {time(frame.at)}
              </span>
              <JsonView text={frame.text} exact ids label={`Message ${at + 1}, ${frame.isSent ? 'sent' : 'received'}`} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function WireHead({ title, more, text }: { title: string; more: string; text: string }) {
  return (
    <div class="wire-head">
      <h3>{title}</h3>
      <span class="muted mono">{more}</span>
      <CopyButton text={text} what={title} />
    </div>
  );
}

function Heads({ heads }: { heads: readonly Head[] }) {
  return (
    <>
      {heads.map(({ name, value }) => (
        <>
          {'\n'}
          <span class="t-name">{name}</span>: {value}
        </>
      ))}
    </>
  );
}
