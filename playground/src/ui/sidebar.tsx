/** Where a request comes from: the methods of the server, rules to break, or what was sent before. */

import { signal } from '@preact/signals';
import { past } from '../state/history.js';
import { Tabs } from './controls.js';
import { BrokenList } from './broken-list.js';
import { HistoryList } from './history-list.js';
import { MethodList } from './method-list.js';

export type Source = 'methods' | 'broken' | 'history';
export const source = signal<Source>('methods');

export function Sidebar() {
  const tabs = [
    { value: 'methods' as const, label: 'Methods' },
    { value: 'broken' as const, label: 'Break rules' },
    { value: 'history' as const, label: 'History', count: past.value.length },
  ];
  return (
    <nav class="pane sidebar" aria-label="Requests to choose from">
      <Tabs label="Source of requests" tabs={tabs} value={source.value} onChoose={(value) => (source.value = value)} panel="source-panel" />
      <div id="source-panel" role="tabpanel" class="sidebar-panel">
        {source.value === 'methods' && <MethodList />}
        {source.value === 'broken' && <BrokenList />}
        {source.value === 'history' && <HistoryList />}
      </div>
      <p class="shortcuts" aria-hidden="true">
        <kbd>/</kbd> search <kbd>Ctrl</kbd> <kbd>Enter</kbd> send
      </p>
    </nav>
  );
}
