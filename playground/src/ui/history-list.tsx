/** What was sent before, to be sent again. */

import { discover } from '../state/catalog.js';
import { isNotification, method, params, view } from '../state/draft.js';
import { type Past, clearHistory, past } from '../state/history.js';
import { endpoint, transport, version } from '../state/settings.js';
import { Empty } from './controls.js';
import { say } from './copy.js';
import { showPane } from './panes.js';
import { option, rove } from './roving.js';

export function HistoryList() {
  if (past.value.length === 0) {
    return (
      <Empty title="Nothing was sent yet">
        <p>What you send is kept here, in this browser only. Headers and tokens are not.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="list-tools">
        <span class="muted">Kept in this browser</span>
        <button
          type="button"
          class="quiet small"
          onClick={() => {
            clearHistory();
            say('History cleared');
          }}
        >
          Clear
        </button>
      </div>
      <div role="listbox" aria-label="History" class="list" onKeyDown={rove}>
        {past.value.map((entry, at) => (
          <div key={entry.at} class="list-row" {...option(false, at === 0, () => restore(entry))}>
            <span class="list-name">
              <span class="mono">{entry.method}</span>
              <time class="list-time" dateTime={new Date(entry.at).toISOString()}>
                {new Date(entry.at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
              </time>
            </span>
            <span class="list-more">
              <span class={entry.isFailure ? 'bad' : ''}>{entry.outcome || 'no answer yet'}</span>
              {entry.params && <span class="mono"> {entry.params.replaceAll(/\s+/g, ' ').slice(0, 60)}</span>}
            </span>
          </div>
        ))}
      </div>
    </>
  );
}

/** Prepares a call as it was made. */
export function restore(
  entry: Pick<Past, 'endpoint' | 'transport' | 'version' | 'method' | 'params' | 'isNotification'>,
  asks = true,
): void {
  const isElsewhere = entry.endpoint !== endpoint.value;
  view.value = 'call';
  endpoint.value = entry.endpoint;
  transport.value = entry.transport;
  version.value = entry.version;
  method.value = entry.method;
  params.value = entry.params;
  isNotification.value = entry.isNotification;
  if (isElsewhere && asks) void discover();
  showPane('request');
}
