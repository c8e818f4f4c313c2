/** The page: what to send, on the left; the request, in the middle; the answer, on the right. */

import { spoken } from '../state/spoken.js';
import { shown } from '../state/traffic.js';
import { AnswerPane } from './answer.js';
import { toast } from './copy.js';
import { HeadersDialog } from './headers.js';
import { AnswerIcon, EditIcon, ListIcon } from './icons.js';
import { LoginDialog } from './login.js';
import { type Pane, pane, showPane } from './panes.js';
import { RequestPane } from './request.js';
import { Sidebar } from './sidebar.js';
import { TopBar } from './topbar.js';

const PANES: readonly { value: Pane; label: string; icon: () => preact.JSX.Element }[] = [
  { value: 'source', label: 'Choose', icon: ListIcon },
  { value: 'request', label: 'Request', icon: EditIcon },
  { value: 'answer', label: 'Answer', icon: AnswerIcon },
];

export function App() {
  return (
    <div class="app" data-pane={pane.value}>
      <TopBar />
      <div class="panes">
        <Sidebar />
        <RequestPane />
        <AnswerPane />
      </div>
      <nav class="bottom" aria-label="Panes">
        {PANES.map(({ value, label, icon: PaneIcon }) => (
          <button
            key={value}
            type="button"
            {...(pane.value === value ? { 'aria-current': 'page' as const } : {})}
            onClick={() => showPane(value)}
          >
            <PaneIcon />
            {label}
            {value === 'answer' && shown.value && <Freshness />}
          </button>
        ))}
      </nav>
      <LoginDialog />
      <HeadersDialog />
      <div class="unseen" role="status" aria-live="polite">
        {spoken.value}
      </div>
      {toast.value && (
        <div class="toast" aria-hidden="true">
          {toast.value}
        </div>
      )}
    </div>
  );
}

function Freshness() {
  const exchange = shown.value!;
  void exchange.revision.value;
  return exchange.endedAt === undefined ? <span class="dot opening" aria-hidden="true" /> : null;
}
