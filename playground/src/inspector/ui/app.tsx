/** The page: what the server offers, on the left; a request, in the middle; what became of it, on the right. */

import { effect } from '@preact/signals';
import { spoken } from '../../state/spoken.js';
import { Empty } from '../../ui/controls.js';
import { toast } from '../../ui/copy.js';
import { AnswerIcon, EditIcon, ListIcon } from '../../ui/icons.js';
import { type Pane, pane, showPane } from '../../ui/panes.js';
import { shown } from '../calls.js';
import { phase } from '../session.js';
import { AnswerPane } from './answer.js';
import { QuestionDialog } from './questions.js';
import { RequestPane } from './request.js';
import { Sidebar } from './sidebar.js';
import { TopBar } from './topbar.js';

const PANES: readonly { value: Pane; label: string; icon: () => preact.JSX.Element }[] = [
  { value: 'source', label: 'Choose', icon: ListIcon },
  { value: 'request', label: 'Request', icon: EditIcon },
  { value: 'answer', label: 'Answer', icon: AnswerIcon },
];

export function App() {
  if (phase.value === 'locked' || phase.value === 'replaced') return <Closed isReplaced={phase.value === 'replaced'} />;
  return (
    <div class="app inspector" data-pane={pane.value}>
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
            {value === 'answer' && shown.value?.outcome.value.kind === 'waiting' && <span class="dot opening" aria-hidden="true" />}
          </button>
        ))}
      </nav>
      <QuestionDialog />
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

function Closed({ isReplaced }: { isReplaced: boolean }) {
  return (
    <main class="closed">
      {isReplaced ? (
        <Empty title="The inspector is open in another tab">
          <p>Only one page can use it at a time.</p>
        </Empty>
      ) : (
        <Empty title="This page needs a new link">
          <p>The link that the command prints works once, in one tab.</p>
          <p>
            Run <code>switchboard inspect</code> again, and open the link that it prints.
          </p>
        </Empty>
      )}
    </main>
  );
}

effect(() => {
  // A small screen shows the answer that was asked for.
  if (shown.value) showPane('answer');
});
