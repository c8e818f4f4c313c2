/** JSON in colours, to be read. */

import { pretty } from '../json/print.js';

/** Longer texts are shown plain: thousands of coloured pieces would make the page slow. */
const LONGEST = 40_000;
/** Nothing longer than this is shown at all; it can still be copied. */
const MOST = 1_000_000;

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

/** A JSON text, laid out anew unless it is to be shown as it is. */
export function JsonView({ text, exact = false, label }: { text: string; exact?: boolean; label: string }) {
  const whole = exact || text.length > MOST ? text : pretty(text);
  const shown = whole.slice(0, MOST);
  return (
    <pre class={exact ? 'json exact' : 'json'} tabIndex={0} role="region" aria-label={label}>
      <code>{shown.length > LONGEST ? shown : [...coloured(shown)]}</code>
      {whole.length > MOST && <span class="muted"> … cut after {MOST.toLocaleString('en')} characters</span>}
    </pre>
  );
}

function* coloured(text: string) {
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    const [whole, string, colon, number] = found;
    if (found.index > at) yield text.slice(at, found.index);
    const kind = string !== undefined ? (colon !== undefined ? 'name' : 'string') : number !== undefined ? 'number' : 'word';
    yield <span class={`t-${kind}`}>{string ?? whole}</span>;
    if (colon !== undefined) yield colon;
    at = found.index + whole.length;
  }
  if (at < text.length) yield text.slice(at);
}
