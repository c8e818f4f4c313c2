/** A message of "Break rules", with the rule in plain words. */

import { wish } from '../broken/expectation.js';
import type { Exchange } from '../rpc/exchange.js';
import { broken, brokenText } from '../state/draft.js';
import { transport } from '../state/settings.js';
import { sendBroken, verdicts } from '../state/trials.js';
import { Editor } from './editor.js';
import { SendIcon } from './icons.js';
import { showPane } from './panes.js';

export function BrokenRequest() {
  const chosen = broken.value;
  const isChanged = brokenText.value !== chosen.text;
  const expected = (transport.value === 'ws' ? chosen.expectedOnSocket : undefined) ?? chosen.expected;
  return (
    <div class="pane-scroll">
      <div class="method-head">
        <h2 class="broken-title">{chosen.title}</h2>
        <p class="badges">
          {chosen.rules.map((rule) => (
            <span class="badge" key={rule}>
              {rule}
            </span>
          ))}
          <span class="muted">{chosen.level === 'good practice' ? 'Good practice' : 'Required by the specification'}</span>
        </p>
        <p class="prose">{chosen.why}</p>
        <p class="prose">
          <strong>Expected:</strong> {wish(expected)}.
        </p>
      </div>
      <section class="editor-box" aria-label="Message">
        <div class="editor-head">
          <h3>Message</h3>
          <span class="muted hint">sent unchanged</span>
          {isChanged && (
            <button type="button" class="quiet small" onClick={() => (brokenText.value = chosen.text)}>
              Undo changes
            </button>
          )}
        </div>
        <Editor key={chosen.key} label="Message" hint="(empty)" text={brokenText} />
      </section>
      {isChanged && <p class="muted">You changed this message, so its answer is not checked.</p>}
      <div class="actions">
        <button
          type="button"
          class="primary"
          onClick={() => {
            if (sendBroken()) showPane('answer');
          }}
        >
          <SendIcon /> Send message
        </button>
      </div>
    </div>
  );
}

/** Whether the answer to such a message is as expected. */
export function VerdictCard({ exchange }: { exchange: Exchange }) {
  const verdict = verdicts.value.get(exchange.key);
  if (!verdict) return null;
  return (
    <div class={`verdict ${verdict.isRight ? 'right' : 'wrong'}`} role="status">
      <strong>{verdict.isRight ? 'Correct' : 'Not as expected'}</strong>
      <p>{verdict.text}</p>
    </div>
  );
}
