/** The batch being put together. */

import { sendTray } from '../state/traffic.js';
import { clearTray, removeFromTray, tray } from '../state/tray.js';
import { IconButton } from './controls.js';
import { CloseIcon, SendIcon } from './icons.js';
import { showPane } from './panes.js';

export function Tray() {
  const entries = tray.value;
  if (entries.length === 0) return null;
  return (
    <section class="tray" aria-label="Batch">
      <div class="tray-head">
        <h3>
          Batch <span class="count">{entries.length}</span>
        </h3>
        <button type="button" class="quiet small" onClick={clearTray}>
          Clear
        </button>
        <button
          type="button"
          class="small"
          onClick={() => {
            sendTray();
            showPane('answer');
          }}
        >
          <SendIcon /> Send batch
        </button>
      </div>
      <ol class="tray-list">
        {entries.map(({ key, intent }) => (
          <li key={key}>
            <span class="mono">{intent.method}</span>
            <span class="mono muted tray-params">{intent.params.replaceAll(/\s+/g, ' ')}</span>
            {intent.isNotification && <span class="badge">notification</span>}
            <IconButton label={`Remove ${intent.method} from the batch`} onClick={() => removeFromTray(key)}>
              <CloseIcon />
            </IconButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
