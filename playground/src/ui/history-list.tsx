/** Requests that were sent before, to be sent again. */

import { CASES } from '../broken/cases.js';
import { chooseBroken, isNotification, method, params, view } from '../state/draft.js';
import { type Past, clearHistory, past } from '../state/history.js';
import { refresh } from '../state/identity.js';
import { prepared, requestView, write } from '../state/message.js';
import { endpoint, endpointProblem, transport, version } from '../state/settings.js';
import { fillTray } from '../state/tray.js';
import { Empty } from './controls.js';
import { say } from './copy.js';
import { showPane } from './panes.js';
import { option, rove } from './roving.js';

export function HistoryList() {
  if (past.value.length === 0) {
    return (
      <Empty title="No request sent yet">
        <p>Requests you send are kept here, in this browser only. Headers and credentials are never kept here.</p>
      </Empty>
    );
  }
  return (
    <>
      <div class="list-tools">
        <span class="muted">Kept in this browser only</span>
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
              <span class={entry.batch || entry.message !== undefined ? '' : 'mono'}>{entry.method}</span>
              <time class="list-time" dateTime={new Date(entry.at).toISOString()}>
                {new Date(entry.at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
              </time>
            </span>
            <span class="list-more">
              <span class={entry.isFailure ? 'bad' : ''}>{entry.outcome || 'no answer yet'}</span>
              <span class="mono"> {contents(entry).replaceAll(/\s+/g, ' ').slice(0, 60)}</span>
            </span>
          </div>
        ))}
      </div>
    </>
  );
}

/** What was sent, in a line. */
function contents({ batch, params }: Past): string {
  return batch ? batch.map((intent) => intent.method).join(', ') : params;
}

/** Prepares a request as it was sent. */
export function restore(
  entry: Pick<Past, 'endpoint' | 'transport' | 'version' | 'method' | 'params' | 'isNotification' | 'batch' | 'message'>,
  asks = true,
): void {
  const isElsewhere = entry.endpoint !== endpoint.value;
  endpoint.value = entry.endpoint;
  endpointProblem.value = '';
  transport.value = entry.transport;
  version.value = entry.version;
  const known = CASES.find(({ key }) => key === entry.message);
  if (known) {
    chooseBroken(known, entry.params);
  } else if (entry.message !== undefined) {
    view.value = 'call';
    requestView.value = 'message';
    write(entry.params);
  } else if (entry.batch) {
    view.value = 'call';
    fillTray(entry.batch);
    prepared.value = 'batch';
  } else {
    view.value = 'call';
    prepared.value = 'call';
    method.value = entry.method;
    params.value = entry.params;
    isNotification.value = entry.isNotification;
  }
  if (isElsewhere && asks) void refresh();
  showPane('request');
}
