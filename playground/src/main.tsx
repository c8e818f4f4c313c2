/** Starts the page. */

import { render } from 'preact';
import { readEndpoint } from './rpc/endpoint.js';
import { fromFragment } from './share.js';
import { discovery } from './state/catalog.js';
import { chooseFirst, view } from './state/draft.js';
import { refresh } from './state/identity.js';
import { OWN } from './state/settings.js';
import { sendStep } from './state/lesson.js';
import { send } from './state/message.js';
import { App } from './ui/app.js';
import { say } from './ui/copy.js';
import { restore } from './ui/history-list.js';
import { showPane } from './ui/panes.js';
import { source } from './ui/sidebar.js';

/** Prepares the call of a link. It is not sent: its author may want what its reader does not. */
function openLink(): void {
  const shared = fromFragment(location.hash);
  if (!shared) return;
  const read = readEndpoint(shared.endpoint ?? OWN, OWN);
  if ('problem' in read) return say('The endpoint in this link cannot be called');
  const isOwn = read.url.href === OWN;
  // A server that only the link names is not even asked for its methods.
  if (!isOwn) discovery.value = { state: 'unasked' };
  restore({ ...shared, endpoint: read.url.href }, isOwn);
  if (!isOwn) say(`This link calls ${read.url.host}. No request has been sent yet.`);
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

document.addEventListener('keydown', (event) => {
  if (document.querySelector('dialog[open]')) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (view.value === 'lesson') sendStep();
    else if (send()) showPane('answer');
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
if (discovery.value.state === 'loading') void refresh().then(chooseFirst);
