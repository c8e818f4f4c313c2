/** JSON that folds. Only what is open is drawn, so that a result of some megabytes stays quick. */

import { useMemo, useState } from 'preact/hooks';
import { type Part, count, entries, folds, key, opened, ranges, whole } from '../json/fold.js';
import type { List, Node, Obj } from '../json/node.js';
import { source } from '../json/node.js';
import { pretty } from '../json/print.js';
import { type IdMark, idsOf } from '../rpc/ids.js';
import { IdTag } from './id-tag.js';
import { coloured } from './json-view.js';

/** Rows to begin with, and when everything is asked for. */
const FIRST = 80;
const ALL = 1000;
/** Longer strings are cut until they are asked for. */
const LONG = 400;

interface Shared {
  readonly text: string;
  readonly open: ReadonlySet<string>;
  readonly ids: readonly IdMark[];
}

export function Tree({ text, node, label, ids }: { text: string; node: List | Obj; label: string; ids: boolean }) {
  const [rows, setRows] = useState(FIRST);
  const shared = useMemo(() => ({ text, open: opened(whole(node), rows), ids: ids ? idsOf(text, node) : [] }), [text, node, rows, ids]);
  return (
    <div class="tree" tabIndex={0} role="region" aria-label={label}>
      <div class="tree-tools">
        <span>{sizeOf(node)}</span>
        <span class="spacer" />
        <button type="button" class="quiet small" onClick={() => setRows(ALL)}>
          Expand
        </button>
        <button type="button" class="quiet small" onClick={() => setRows(1)}>
          Collapse
        </button>
      </div>
      <Rows key={rows} part={whole(node)} shared={shared} />
    </div>
  );
}

function Rows({ part, shared }: { part: Part; shared: Shared }) {
  const within = ranges(part);
  return (
    <ul>
      {within.length > 0
        ? within.map((range) => (
            <Fold key={range.from} part={range} shared={shared} name={`${number(range.from)} … ${number(range.to - 1)}`} />
          ))
        : entries(part).map(({ at, name, value }) => <Entry key={at} at={at} name={name} value={value} shared={shared} />)}
    </ul>
  );
}

function Entry({ at, name, value, shared }: { at: number; name: string | undefined; value: Node; shared: Shared }) {
  const label = name === undefined ? <span class="muted">{number(at)}</span> : <span class="t-name">{JSON.stringify(name)}</span>;
  if (folds(value)) return <Fold part={whole(value)} shared={shared} name={<>{label}:</>} />;
  return (
    <li>
      {label}: <Value node={value} shared={shared} />
    </li>
  );
}

function Fold({ part, shared, name }: { part: Part; shared: Shared; name: preact.ComponentChildren }) {
  const [isOpen, setOpen] = useState(shared.open.has(key(part)));
  const isRange = part.to - part.from < count(part.node);
  return (
    <li>
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {name} {!isRange && <span class="size">{sizeOf(part.node)}</span>}
      </button>
      {isOpen && <Rows part={part} shared={shared} />}
    </li>
  );
}

function Value({ node, shared: { text, ids } }: { node: Node; shared: Shared }) {
  const [isWhole, setWhole] = useState(false);
  const mark = ids.find(({ from }) => from === node.from);
  if (mark) return <IdTag id={mark.id} />;
  const written = node.kind === 'array' || node.kind === 'object' ? pretty(source(text, node)) : source(text, node);
  if (isWhole || written.length <= LONG) return <>{[...coloured(written)]}</>;
  return (
    <>
      <span class="t-string">{written.slice(0, LONG)}…</span>{' '}
      <button type="button" class="quiet small" onClick={() => setWhole(true)}>
        Show all {number(written.length)} characters
      </button>
    </>
  );
}

/** How many entries there are, in words. */
function sizeOf(node: List | Obj): string {
  const [many, one] = node.kind === 'array' ? ['items', 'item'] : ['members', 'member'];
  return `${number(count(node))} ${count(node) === 1 ? one : many}`;
}

function number(value: number): string {
  return value.toLocaleString('en');
}
