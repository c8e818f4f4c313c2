/** What went wrong in the time shown: failed calls, refused messages and security events. */

import { meaning } from '../../rpc/errors.js';
import { age, clock, whole } from '../format.js';
import { frame } from '../frame.js';
import { errors, latest, refused, security, serverNow, span } from '../numbers.js';
import type { Tally } from '../series.js';
import { Panel } from './panel.js';

const KINDS: readonly { readonly tally: Tally; readonly label: string; readonly class: string }[] = [
  { tally: security, label: 'Security', class: 'deprecated' },
  { tally: refused, label: 'Refused', class: '' },
  { tally: errors, label: 'Error', class: '' },
];

export function TroublesPanel() {
  void frame.value;
  const from = (latest?.t ?? 0) - span.value;
  const found = KINDS.flatMap(({ tally, ...kind }) => tally.since(from).map((sum) => ({ ...kind, ...sum })));
  return (
    <Panel title="Errors and refusals" more={<span class="hint">{`Last ${age(span.value)}`}</span>} class="tall">
      <div class="scroll" tabIndex={0} role="region" aria-label="Errors and refusals, list">
        <ul class="troubles">
          {found.map(({ label, class: kind, kind: word, count, last }) => (
            <li key={label + word}>
              <span class="trouble-head">
                <span class={`badge ${kind}`}>{label}</span>
                <b class="mono">{named(word)}</b>
                <b class="number">{whole(count)}</b>
              </span>
              <span class="trouble-more">
                <span>{label === 'Error' ? explained(word) : ''}</span>
                <time title={clock(last)}>{serverNow() - last < 2_500 ? 'now' : `${age(serverNow() - last)} ago`}</time>
              </span>
            </li>
          ))}
        </ul>
        {found.length === 0 && <p class="none">Nothing went wrong.</p>}
      </div>
    </Panel>
  );
}

function named(word: string): string {
  return /^-?\d+$/.test(word) ? word : word.replaceAll(/[-_]/g, ' ');
}

function explained(word: string): string {
  return /^-?\d+$/.test(word) ? meaning(Number(word)) : '';
}
