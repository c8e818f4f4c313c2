/** JSON in colours, to be read. */

import { useMemo } from 'preact/hooks';
import type { List, Obj } from '../json/node.js';
import { parse } from '../json/parse.js';
import { pretty } from '../json/print.js';
import { idMarks } from '../rpc/ids.js';
import { IdTag } from './id-tag.js';
import { Tree } from './tree.js';

/** Longer texts are shown plain: thousands of coloured pieces would make the page slow. */
const LONGEST = 40_000;
/** Nothing longer than this is shown as a text; it can still be copied. */
const MOST = 100_000;
/** Values that are longer than this, or have more lines, fold. */
const FLAT = 8_000;
const LINES = 60;

const TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

interface Props {
  readonly text: string;
  /** It is shown as it is, not laid out anew. */
  readonly exact?: boolean;
  readonly label: string;
  /** It is a message: its id has a colour. */
  readonly ids?: boolean;
}

export function JsonView({ text, exact = false, label, ids = false }: Props) {
  const layout = useMemo(() => (exact ? undefined : laidOut(text)), [text, exact]);
  if (layout && typeof layout !== 'string') return <Tree key={text} text={text} node={layout} label={label} ids={ids} />;
  const whole = layout ?? text;
  const shown = whole.slice(0, MOST);
  return (
    <pre class={exact ? 'json exact' : 'json'} tabIndex={0} role="region" aria-label={label}>
      <code>{shown.length > LONGEST ? shown : [...(ids ? withIds(shown) : coloured(shown))]}</code>
      {whole.length > MOST && <span class="muted"> … cut after {MOST.toLocaleString('en')} characters; copy it to see the rest</span>}
    </pre>
  );
}

/** The last long values, so that going from view to view reads none of them twice. */
const long = new Map<string, List | Obj>();
const KEPT = 4;

/** The text laid out, or its node if it is too long to be read without folding. */
function laidOut(text: string): string | List | Obj {
  const known = long.get(text);
  if (known) return known;
  const layout = lay(text);
  if (typeof layout !== 'string') long.set(text, layout);
  if (long.size > KEPT) long.delete(long.keys().next().value!);
  return layout;
}

function lay(text: string): string | List | Obj {
  const { node } = parse(text);
  if (node?.kind !== 'array' && node?.kind !== 'object') return text;
  if (text.length > FLAT) return node;
  const whole = pretty(text);
  return whole.length <= FLAT && whole.split('\n').length <= LINES ? whole : node;
}

function* withIds(text: string) {
  let at = 0;
  for (const { from, to, id } of idMarks(text)) {
    yield* coloured(text.slice(at, from));
    yield <IdTag id={id} />;
    at = to;
  }
  yield* coloured(text.slice(at));
}

/** The pieces of a JSON text in their colours. */
export function* coloured(text: string) {
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
