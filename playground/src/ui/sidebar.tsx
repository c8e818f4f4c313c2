/** Where a request comes from: the methods of the server, lessons, messages that break rules, or the history. */

import { signal } from '@preact/signals';
import { Tabs } from './controls.js';
import { BrokenList } from './broken-list.js';
import { HistoryList } from './history-list.js';
import { LessonList } from './lesson-list.js';
import { MethodList } from './method-list.js';

export type Source = 'methods' | 'lessons' | 'broken' | 'history';
export const source = signal<Source>('methods');

export function Sidebar() {
  const tabs = [
    { value: 'methods' as const, label: 'Methods' },
    { value: 'lessons' as const, label: 'Lessons' },
    { value: 'broken' as const, label: 'Break rules' },
    { value: 'history' as const, label: 'History' },
  ];
  return (
    <nav class="pane sidebar" aria-label="Choose a request">
      <Tabs label="Choose from" tabs={tabs} value={source.value} onChoose={(value) => (source.value = value)} panel="source-panel" />
      <div id="source-panel" role="tabpanel" class="sidebar-panel">
        {source.value === 'methods' && <MethodList />}
        {source.value === 'lessons' && <LessonList />}
        {source.value === 'broken' && <BrokenList />}
        {source.value === 'history' && <HistoryList />}
      </div>
      <p class="shortcuts" aria-hidden="true">
        <span>
          <kbd>/</kbd> Search
        </span>
        <span>
          <kbd>Ctrl</kbd> <kbd>Enter</kbd> Send
        </span>
      </p>
    </nav>
  );
}
