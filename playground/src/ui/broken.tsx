/** A message that breaks a rule, with the rule in plain words. */

import { wish } from '../broken/expectation.js';
import type { Exchange } from '../rpc/exchange.js';
import { broken, brokenText } from '../state/draft.js';
import { transport } from '../state/settings.js';
import { sendBroken, verdict } from '../state/traffic.js';
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
          <span class="muted">asked for by {chosen.level}</span>
        </p>
        <p class="prose">{chosen.why}</p>
        <p class="prose">
          <strong>Due:</strong> {wish(expected)}.
        </p>
      </div>
      <section class="editor-box" aria-label="Message as it is sent">
        <div class="editor-head">
          <h3>Message</h3>
          <span class="muted hint">sent as it is</span>
          {isChanged && (
            <button type="button" class="quiet small" onClick={() => (brokenText.value = chosen.text)}>
              Undo changes
            </button>
          )}
        </div>
        <Editor key={chosen.key} label="Message as it is sent" hint="(nothing)" text={brokenText} />
      </section>
      {isChanged && <p class="muted">A changed message is sent, but not judged.</p>}
      <div class="actions">
        <button
          type="button"
          class="primary"
          onClick={() => {
            sendBroken();
            showPane('answer');
          }}
        >
          <SendIcon /> Send broken
        </button>
      </div>
    </div>
  );
}

/** What the server made of the last broken message. */
export function VerdictCard({ exchange }: { exchange: Exchange }) {
  const found = verdict.value;
  if (found?.exchange !== exchange) return null;
  const { isRight, text } = found.verdict;
  return (
    <div class={`verdict ${isRight ? 'right' : 'wrong'}`} role="status">
      <strong>{isRight ? 'The server did right' : 'The server did not keep the rule'}</strong>
      <p>{text}</p>
    </div>
  );
}
