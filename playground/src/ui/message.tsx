/** The whole message as it will go over the wire, to be changed before it is sent. */

import { pretty } from '../json/print.js';
import { isBatch, isTyped, message, messageRemarks, requestView, resetMessage, prepared } from '../state/message.js';
import { tray } from '../state/tray.js';
import { Segmented } from './controls.js';
import { Editor } from './editor.js';
import { idsInEditor } from './ids-in-editor.js';

const VIEWS = [
  { value: 'params' as const, label: 'Params', hint: 'The params, as a form and as JSON' },
  { value: 'message' as const, label: 'Message', hint: 'The whole message, exactly as it is sent' },
];

/** Chooses between the params and the whole message. */
export function RequestViews() {
  const subjects = [
    { value: 'call' as const, label: 'This call' },
    { value: 'batch' as const, label: `Batch of ${tray.value.length}` },
  ];
  return (
    <div class="request-views">
      <Segmented label="Request view" choices={VIEWS} value={requestView.value} onChoose={(value) => (requestView.value = value)} />
      {requestView.value === 'message' && tray.value.length > 0 && (
        <Segmented
          label="Message to show"
          choices={subjects}
          value={isBatch.value ? 'batch' : 'call'}
          onChoose={(value) => (prepared.value = value)}
        />
      )}
    </div>
  );
}

/** The message in its editor, with remarks. */
export function MessageBox({ onReset = resetMessage, canReset = isTyped.value }: { onReset?: () => void; canReset?: boolean }) {
  const found = messageRemarks.value;
  return (
    <section class="editor-box" aria-label="Message">
      <div class="editor-head">
        <h3>Message</h3>
        <span class="muted hint">sent exactly as written</span>
        {canReset && (
          <button type="button" class="quiet small" onClick={onReset}>
            Reset
          </button>
        )}
        <button type="button" class="quiet small" onClick={() => (message.value = pretty(message.value))}>
          Format
        </button>
      </div>
      <Editor label="Message" hint="(empty)" text={message} problems={found} extra={idsInEditor} />
      <ul class="remarks" aria-label="Remarks" aria-live="polite">
        {found.map((remark, at) => (
          <li key={at}>{remark.message}</li>
        ))}
      </ul>
    </section>
  );
}
