/** Messages to test a server with: those that break a rule, and odd ones. */

import { CASES, type Case } from '../broken/cases.js';
import { broken, chooseBroken, view } from '../state/draft.js';
import { show } from '../state/traffic.js';
import { isRunning, score, sendAll, stopAll, trials } from '../state/trials.js';
import { CheckIcon, CloseIcon, SendIcon, StopIcon } from './icons.js';
import { showPane } from './panes.js';
import { option, rove } from './roving.js';

const GROUPS: readonly { title: string; cases: readonly Case[] }[] = [
  { title: 'Breaks a rule', cases: CASES.filter((entry) => !entry.isLegal) },
  { title: 'Odd but legal', cases: CASES.filter((entry) => entry.isLegal) },
];

export function BrokenList() {
  const active = view.value === 'broken' ? broken.value.key : '';
  const first = active || CASES[0]!.key;
  return (
    <>
      <p class="list-intro">Send a message, and see whether the server answers as it should.</p>
      <Sweep />
      <div role="listbox" aria-label="Rules to break" class="list" onKeyDown={rove}>
        {GROUPS.map(({ title, cases }) => (
          <div role="group" aria-label={title} key={title}>
            <div class="list-head words" aria-hidden="true">
              {title}
            </div>
            {cases.map((entry) => (
              <Row key={entry.key} entry={entry} isActive={entry.key === active} isFirst={entry.key === first} />
            ))}
          </div>
        ))}
      </div>
    </>
  );
}

/** Sends all of them, and counts. */
function Sweep() {
  const { tried, right } = score.value;
  return (
    <div class="list-tools">
      <span role="status" class={right < tried ? 'bad' : ''}>
        {isRunning.value ? `${tried} of ${CASES.length} sent` : tried > 0 && `${right} of ${tried} as expected`}
      </span>
      {isRunning.value ? (
        <button type="button" class="small" onClick={stopAll}>
          <StopIcon /> Stop
        </button>
      ) : (
        <button type="button" class="small" onClick={() => void sendAll()}>
          <SendIcon /> Send all
        </button>
      )}
    </div>
  );
}

function Row({ entry, isActive, isFirst }: { entry: Case; isActive: boolean; isFirst: boolean }) {
  const trial = trials.value.get(entry.key);
  const take = () => {
    chooseBroken(entry);
    if (trial) show(trial.exchange);
    showPane('request');
  };
  return (
    <div class="list-row" {...option(isActive, isFirst, take)}>
      <span class="list-name">
        <span>{entry.title}</span>
        {trial && (
          <span class={`mark ${trial.verdict.isRight ? 'right' : 'wrong'}`} title={trial.verdict.text}>
            {trial.verdict.isRight ? <CheckIcon /> : <CloseIcon />}
            <span class="unseen">{trial.verdict.isRight ? 'as expected' : 'not as expected'}</span>
          </span>
        )}
        <span class="badge rule">{entry.rules[0]}</span>
      </span>
    </div>
  );
}
