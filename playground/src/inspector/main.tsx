/** Starts the page. */

import { render } from 'preact';
import { start } from './session.js';
import { App } from './ui/app.js';
import { sendChosen } from './ui/request.js';
import { startSearch } from './ui/sidebar.js';

function isTyping(event: KeyboardEvent): boolean {
  return event.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
}

document.addEventListener('keydown', (event) => {
  if (document.querySelector('dialog[open]')) return;
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    sendChosen();
  }
  if (event.key === '/' && !isTyping(event) && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    startSearch();
  }
});

render(<App />, document.getElementById('app')!);
start();
