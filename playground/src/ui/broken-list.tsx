/** Rules to break. */

import { CASES } from '../broken/cases.js';
import { broken, chooseBroken, view } from '../state/draft.js';
import { showPane } from './panes.js';
import { option, rove } from './roving.js';

export function BrokenList() {
  const active = view.value === 'broken' ? broken.value.key : '';
  const first = active || CASES[0]!.key;
  return (
    <>
      <p class="list-intro">Messages that break a rule. Send one, and see whether the server does right.</p>
      <div role="listbox" aria-label="Rules to break" class="list" onKeyDown={rove}>
        {CASES.map((entry) => (
          <div
            key={entry.key}
            class="list-row"
            {...option(entry.key === active, entry.key === first, () => {
              chooseBroken(entry);
              showPane('request');
            })}
          >
            <span class="list-name">
              <span>{entry.title}</span>
              <span class="badge">{entry.rules[0]}</span>
            </span>
          </div>
        ))}
      </div>
    </>
  );
}
