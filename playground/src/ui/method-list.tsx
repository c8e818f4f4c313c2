/** The methods of the endpoint, to search and choose from. */

import type { Method } from '../rpc/document.js';
import { discovery, found, methods, search } from '../state/catalog.js';
import { choose, method as chosen, view } from '../state/draft.js';
import { refresh } from '../state/identity.js';
import { Empty } from './controls.js';
import { SearchIcon } from './icons.js';
import { openLogin } from './login.js';
import { showPane } from './panes.js';
import { enterList, option, rove } from './roving.js';

export function MethodList() {
  return (
    <>
      <div class="search">
        <SearchIcon />
        <input
          id="search"
          type="search"
          aria-label="Search methods"
          placeholder="Search methods"
          value={search.value}
          onInput={(event) => (search.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'ArrowDown') {
              event.preventDefault();
              enterList('methods');
            }
            if (event.key === 'Enter' && found.value[0] && !event.ctrlKey) take(found.value[0]);
          }}
        />
      </div>
      <Found />
    </>
  );
}

function Found() {
  const { state } = discovery.value;
  if (state === 'unasked') {
    return (
      <Empty title="This link leads to another server">
        <p>No request has been sent to it yet.</p>
        <button type="button" onClick={() => void refresh()}>
          List its methods
        </button>
      </Empty>
    );
  }
  if (state === 'loading') return <Empty title="Loading the methods…" />;
  if (discovery.value.state === 'failed') {
    return (
      <Empty title={discovery.value.failure.title}>
        {discovery.value.failure.advice.map((line) => (
          <p key={line}>{line}</p>
        ))}
        <button type="button" onClick={() => void refresh()}>
          Try again
        </button>
      </Empty>
    );
  }
  if (discovery.value.state === 'locked') {
    return (
      <Empty title="This server requires credentials">
        <p>After you log in, the methods that you may call are listed here.</p>
        <button type="button" onClick={openLogin}>
          Log in
        </button>
      </Empty>
    );
  }
  if (discovery.value.state === 'silent') {
    return (
      <Empty title="This server does not list its methods">
        <p>{discovery.value.reason} To call a method, type its name.</p>
      </Empty>
    );
  }
  if (found.value.length === 0) {
    return <Empty title={methods.value.length === 0 ? 'No methods' : `No method matches “${search.value}”`} />;
  }
  const groups = grouped(found.value);
  const active = view.value === 'call' ? chosen.value : '';
  const first = found.value.find((method) => method.name === active)?.name ?? groups[0]?.methods[0]?.name;
  return (
    <div id="methods" role="listbox" aria-label="Methods" class="list" onKeyDown={rove}>
      {groups.map(({ name, methods }) => (
        <div role="group" aria-label={name || 'Other methods'} key={name}>
          {name && (
            <div class="list-head" aria-hidden="true">
              {name}
            </div>
          )}
          {methods.map((method) => (
            <div key={method.name} class="list-row" {...option(method.name === active, method.name === first, () => take(method))}>
              <span class="list-name">
                <span class={method.deprecated === undefined ? 'mono' : 'mono struck'}>{method.name}</span>
                {method.marks
                  .filter((mark) => mark === 'stream' || mark === 'subscription')
                  .map((mark) => (
                    <span class="badge" key={mark}>
                      {mark}
                    </span>
                  ))}
              </span>
              <span class="list-more">{method.summary.replaceAll('`', '')}</span>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}

function take(method: Method): void {
  choose(method.name);
  showPane('request');
}

/** By their last tag, or else by the part of the name before the last slash or dot; those without either come first. */
function grouped(methods: readonly Method[]): { name: string; methods: Method[] }[] {
  const groups = new Map<string, Method[]>();
  for (const method of methods) {
    const name = method.tags.at(-1) ?? /^(.+)[/.][^/.]+$/.exec(method.name)?.[1] ?? '';
    groups.set(name, [...(groups.get(name) ?? []), method]);
  }
  return [...groups].map(([name, methods]) => ({ name, methods })).sort((a, b) => (a.name < b.name ? -1 : 1));
}
