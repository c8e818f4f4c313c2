/** What the server offers, to search and choose from, and what was sent. */

import { signal } from '@preact/signals';
import { Empty, Tabs } from '../../ui/controls.js';
import { SearchIcon } from '../../ui/icons.js';
import { showPane } from '../../ui/panes.js';
import { enterList, option, rove } from '../../ui/roving.js';
import { type Sent, hasFailed, log, shown, wordOf } from '../calls.js';
import { found, itemsOf, lists, search } from '../catalog.js';
import { choose, chosen } from '../draft.js';
import type { Item, Kind } from '../items.js';
import { about, connecting, has } from '../session.js';

type Source = 'tools' | 'resources' | 'prompts' | 'history';
const source = signal<Source>('tools');

/** The lists of each tab. */
const KINDS: Readonly<Record<Exclude<Source, 'history'>, readonly Kind[]>> = {
  tools: ['tools'],
  resources: ['resources', 'templates'],
  prompts: ['prompts'],
};
const NAMES: Readonly<Record<Kind, string>> = { tools: 'tools', resources: 'resources', templates: 'resource templates', prompts: 'prompts' };

const TABS: readonly { value: Source; label: string }[] = [
  { value: 'tools', label: 'Tools' },
  { value: 'resources', label: 'Resources' },
  { value: 'prompts', label: 'Prompts' },
  { value: 'history', label: 'History' },
];

export function Sidebar() {
  const kinds = source.value === 'history' ? undefined : KINDS[source.value];
  return (
    <nav class="pane sidebar" aria-label="What the server offers">
      <Tabs label="Choose from" tabs={TABS} value={source.value} onChoose={(value) => (source.value = value)} panel="source-panel" />
      <div id="source-panel" role="tabpanel" class="sidebar-panel">
        {kinds ? <Items source={source.value} kinds={kinds} /> : <History />}
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

/** Shows the search of a list. */
export function startSearch(): void {
  if (source.value === 'history') source.value = 'tools';
  showPane('source');
  setTimeout(() => document.getElementById('search')?.focus());
}

function Items({ source, kinds }: { source: Source; kinds: readonly Kind[] }) {
  const all = kinds.flatMap((kind) => found.value[kind]);
  return (
    <>
      <div class="search">
        <SearchIcon />
        <input
          id="search"
          type="search"
          aria-label={`Search ${source}`}
          placeholder={`Search ${source}`}
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') {
              event.preventDefault();
              enterList('items');
            }
            if (event.key === 'Enter' && all[0] && !event.ctrlKey) take(all[0]);
          }}
        />
      </div>
      {all.length > 0 ? <Found kinds={kinds} all={all} /> : <None source={source} kinds={kinds} />}
    </>
  );
}

function None({ source, kinds }: { source: Source; kinds: readonly Kind[] }) {
  const states = kinds.map((kind) => lists[kind].value!);
  const failed = states.find((list) => list.state === 'failed');
  if (connecting.value) return <Empty title="Connecting…" />;
  if (!about.value) return <Empty title="Not connected" />;
  if (failed?.state === 'failed') return <Empty title={`The ${source} cannot be listed`}>{<p>{failed.why}</p>}</Empty>;
  if (states.some((list) => list.state === 'loading')) return <Empty title="Loading…" />;
  if (kinds.some((kind) => itemsOf(kind).length > 0)) return <Empty title={`Nothing matches “${search.value}”`} />;
  return <Empty title={has(source) ? `No ${source}` : `This server has no ${source}`} />;
}

function Found({ kinds, all }: { kinds: readonly Kind[]; all: readonly Item[] }) {
  const isChosen = (item: Item) => chosen.value?.kind === item.kind && chosen.value.id === item.id;
  const first = all.find(isChosen) ?? all[0];
  return (
    <div id="items" role="listbox" aria-label="Found" class="list" onKeyDown={rove}>
      {kinds.map((kind) => (
        <div role="group" aria-label={NAMES[kind]} key={kind}>
          {kinds.length > 1 && found.value[kind].length > 0 && (
            <div class="list-head words" aria-hidden="true">
              {kind === 'templates' ? 'Templates' : 'Resources'}
            </div>
          )}
          {found.value[kind].map((item) => (
            <div key={item.id} class="list-row" {...option(isChosen(item), item === first, () => take(item))}>
              <span class="list-name">
                <span class={kind === 'tools' || kind === 'prompts' ? 'mono' : ''}>{item.name}</span>
                {item.badges.slice(0, 1).map((badge) => (
                  <span class={`badge ${badge === 'destructive' ? 'deprecated' : ''}`} key={badge}>
                    {badge}
                  </span>
                ))}
              </span>
              <span class="list-more">{item.description.split('\n')[0] || item.title || (item.id === item.name ? '' : item.id)}</span>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

function take({ kind, id }: Item): void {
  choose(kind, id);
  showPane('request');
}

function History() {
  if (log.value.length === 0) {
    return (
      <Empty title="No request sent yet">
        <p>Requests that you send from this page appear here. You can view them or send them again.</p>
      </Empty>
    );
  }
  return (
    <div role="listbox" aria-label="History" class="list history" onKeyDown={rove}>
      {log.value.map((sent, at) => (
        <div key={sent.key} class="list-row" {...option(sent === shown.value, at === 0, () => restore(sent))}>
          <span class="list-name">
            <span class="mono">{sent.title}</span>
            <time class="list-time" dateTime={sent.at.toISOString()}>
              {sent.at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
            </time>
          </span>
          <span class="list-more">
            <span class={hasFailed(sent.outcome.value) ? 'bad' : ''}>{wordOf(sent.outcome.value)}</span>{' '}
            <span class="mono">{(sent.origin?.args ?? sent.params).replaceAll(/\s+/g, ' ').slice(0, 60)}</span>
          </span>
        </div>
      ))}
    </div>
  );
}

/** Shows what was sent, and prepares it to be sent again. */
function restore(sent: Sent): void {
  shown.value = sent;
  if (sent.origin) choose(sent.origin.kind, sent.origin.id, sent.origin.args);
  showPane('request');
}
