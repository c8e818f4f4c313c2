/** Every message between the command and the server. */

import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { arrowOf } from '../../diagram/arrow.js';
import { conversationOf } from '../../diagram/conversation.js';
import { time } from '../../ui/amounts.js';
import { Empty, Segmented } from '../../ui/controls.js';
import { Drawing, InWords, SaveDrawing, useFollowing, useWidth } from '../../ui/drawing.js';
import { JsonView } from '../../ui/json-view.js';
import { saveFile } from '../../ui/save.js';
import { type WireMessage, lost, messages } from '../messages.js';
import { call, serverName } from '../session.js';

type View = 'diagram' | 'list';
const view = signal<View>('diagram');
const VIEWS: readonly { value: View; label: string }[] = [
  { value: 'diagram', label: 'Diagram' },
  { value: 'list', label: 'List' },
];

/** As many rows of the list are drawn. */
const ROWS = 200;

export function Messages() {
  const drawing = useRef<SVGSVGElement>(null);
  const [box, width] = useWidth();
  const rows = conversationOf(messages.value, lost.value);
  useFollowing(box, messages.value.length);
  return (
    <section class="diagram" aria-label="Messages" ref={box}>
      <div class="result-tools">
        <Segmented label="Messages as" choices={VIEWS} value={view.value} onChoose={(value) => (view.value = value)} />
        <span class="spacer" />
        {view.value === 'diagram' && <SaveDrawing drawing={drawing} />}
        <button type="button" class="quiet small" title="A recording that switchboard replay can send again" onClick={() => void save()}>
          Save recording
        </button>
      </div>
      {messages.value.length === 0 ? (
        <Empty title="No messages yet" />
      ) : view.value === 'list' ? (
        <List />
      ) : (
        <>
          <Drawing rows={rows} width={width} client="Inspector" server={serverName.value} drawing={drawing} />
          <InWords rows={rows} />
        </>
      )}
    </section>
  );
}

function List() {
  const all = messages.value.slice(-ROWS);
  const left = lost.value + messages.value.length - all.length;
  return (
    <ol class="wire-list" aria-label="Messages in order">
      {left > 0 && <li class="muted">{left.toLocaleString('en')} earlier messages left out</li>}
      {all.map((message) => (
        <Message key={message.number} message={message} />
      ))}
    </ol>
  );
}

const opened = signal<ReadonlySet<number>>(new Set());

function Message({ message: { number, at, sent, head, text, cut } }: { message: WireMessage }) {
  const isOpen = opened.value.has(number);
  const arrow = head ? undefined : arrowOf(text, at, sent);
  const toggle = () => {
    const next = new Set(opened.value);
    if (!next.delete(number)) next.add(number);
    opened.value = next;
  };
  return (
    <li>
      <button type="button" class={`wire-row ${sent ? 'is-sent' : ''}`} aria-expanded={isOpen} onClick={toggle}>
        <span class="item-time mono">{time(at)}</span>
        <span class="wire-way" aria-label={sent ? 'sent' : 'received'}>
          {sent ? '→' : '←'}
        </span>
        <span class={head ? 'cut muted mono' : 'cut mono'}>
          {arrow ? (
            <>
              <b>{arrow.word}</b> {arrow.detail}
            </>
          ) : (
            text.split('\n')[0]
          )}
        </span>
      </button>
      {isOpen && (head ? <pre class="text">{text}</pre> : <JsonView text={text} label={`Message ${number}`} ids />)}
      {isOpen && cut && <p class="muted">This message is truncated.</p>}
    </li>
  );
}

async function save(): Promise<void> {
  const text = JSON.parse(await call('inspect/transcript', {})) as string;
  saveFile('mcp-recording.jsonl', 'application/jsonl', text);
}
