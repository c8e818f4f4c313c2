/** Lessons to take. */

import { LESSONS } from '../lessons/lessons.js';
import { lesson, view } from '../state/draft.js';
import { passedOf, resume } from '../state/lesson.js';
import { showPane } from './panes.js';
import { option, rove } from './roving.js';

export function LessonList() {
  const active = view.value === 'lesson' ? lesson.value : undefined;
  return (
    <>
      <p class="list-intro">Learn JSON-RPC with real calls to this server. A lesson takes a few minutes.</p>
      <div role="listbox" aria-label="Lessons" class="list" onKeyDown={rove}>
        {LESSONS.map((entry) => {
          const [done, all] = [passedOf(entry), entry.steps.length];
          return (
            <div
              key={entry.key}
              class="list-row lesson-row"
              {...option(entry === active, entry === (active ?? LESSONS[0]), () => {
                resume(entry);
                showPane('request');
              })}
            >
              <span class="list-name">
                <span>{entry.title}</span>
                <span class={done === all ? 'badge done' : 'badge'}>{done === all ? '✓ done' : `${done} of ${all}`}</span>
              </span>
              <span class="list-more">{entry.summary}</span>
            </div>
          );
        })}
      </div>
    </>
  );
}
