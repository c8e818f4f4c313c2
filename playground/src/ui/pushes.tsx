/** Messages that the server sends without being asked. */

import { useEffect, useRef } from 'preact/hooks';
import { readMessage } from '../rpc/message.js';
import { transport } from '../state/settings.js';
import { type Push, clearPushes, pushCount, pushes } from '../state/traffic.js';

export function Pushes() {
  const list = useRef<HTMLOListElement>(null);
  const count = pushCount.value;
  useEffect(() => {
    if (list.current) list.current.scrollTop = list.current.scrollHeight;
  }, [count]);
  if (transport.value !== 'ws' && count === 0) return null;
  return (
    <section class="pushes" aria-label="Pushed by the server">
      <div class="pushes-head">
        <h3>
          Pushes <span class="count">{count}</span>
        </h3>
        {count > 0 && (
          <button type="button" class="quiet small" onClick={clearPushes}>
            Clear
          </button>
        )}
      </div>
      {count === 0 ? (
        <p class="muted">Messages that the server pushes over the WebSocket appear here.</p>
      ) : (
        <ol class="items" ref={list} tabIndex={0} aria-label="Pushes">
          {pushes.value.map((push) => (
            <PushRow key={push.key} push={push} />
          ))}
        </ol>
      )}
    </section>
  );
}

function PushRow({ push }: { push: Push }) {
  const message = readMessage(push.text);
  return (
    <li>
      <span class="item-time mono">{push.at.toLocaleTimeString()}</span>
      {message.kind === 'call' ? (
        <>
          <b class="mono">{message.method}</b> <code>{message.params}</code>
          {message.id !== undefined && <span class="badge">call, answered with -32601</span>}
        </>
      ) : (
        <code>{push.text}</code>
      )}
    </li>
  );
}
