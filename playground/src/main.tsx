/** Starts the page. */

import { render } from 'preact';
import { readEndpoint } from './rpc/endpoint.js';
import { fromFragment } from './share.js';
import { discover, discovery } from './state/catalog.js';
import { chooseFirst, view } from './state/draft.js';
import { OWN } from './state/settings.js';
import { sendBroken, sendDraft } from './state/traffic.js';
import { App } from './ui/app.js';
import { say } from './ui/copy.js';
import { restore } from './ui/history-list.js';
import { showPane } from './ui/panes.js';
import { source } from './ui/sidebar.js';

/** Prepares the call of a link. It is not sent: whoever made the link may want what its reader does not. */
function openLink(): void {
  const shared = fromFragment(location.hash);
  if (!shared) return;
  const read = readEndpoint(shared.endpoint ?? OWN, OWN);
  if ('problem' in read) return say('The link names an endpoint that cannot be called');
  const isOwn = read.url.href === OWN;
  // Not even what it serves is asked of a server that only the link names.
  if (!isOwn) discovery.value = { state: 'unasked' };
  restore({ ...shared, endpoint: read.url.href }, isOwn);
  if (!isOwn) say(`This link calls ${read.url.host}; nothing was sent yet`);
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

document.addEventListener('keydown', (event) => {
  if (document.querySelector('dialog[open]')) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (view.value === 'broken') sendBroken();
    else sendDraft();
    showPane('answer');
  }
  if (event.key === '/' && !isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    source.value = 'methods';
    showPane('source');
    setTimeout(() => document.getElementById('search')?.focus());
  }
});

window.addEventListener('hashchange', openLink);
render(<App />, document.getElementById('app')!);
openLink();
if (discovery.value.state === 'loading') void discover().then(chooseFirst);
