/** Methods, transports or callers: how much each has of the calls. */

import { signal } from '@preact/signals';
import { Segmented } from '../../ui/controls.js';
import { filter } from '../calls.js';
import { compact, duration, share } from '../format.js';
import { frame } from '../frame.js';
import { by, rows } from '../numbers.js';
import type { By } from '../records.js';
import { type Column, KEPT, type Standing, sorted } from '../rows.js';
import { hold } from './hold.js';
import { Panel, SortHead } from './panel.js';
import { Sparkline } from './sparkline.js';

const KINDS: readonly { value: By; label: string }[] = [
  { value: 'method', label: 'Methods' },
  { value: 'transport', label: 'Transports' },
  { value: 'who', label: 'Callers' },
];
/** Rows that are drawn. */
const MOST = 50;

const order = signal<{ readonly column: Column; readonly isAscending: boolean }>({ column: 'rate', isAscending: false });
const held = hold();
/** The names in the order in which they are shown. */
let names: readonly string[] = [];

export function RowsPanel() {
  void frame.value;
  const all = inOrder(rows.standings());
  const shown = all.slice(0, MOST);
  const most = Math.max(...shown.map((row) => row.rate), 0);
  const choice = <Segmented label="Rows" choices={KINDS} value={by.value} onChoose={(value) => (by.value = value)} />;
  return (
    <Panel title="Busiest" more={choice} class="wide tall">
      <div class="scroll" tabIndex={0} role="region" aria-label="Busiest, table" {...held.events}>
        <table class="rows">
          <Heads />
          <tbody>
            {shown.map((row) => (
              <RowLine key={row.name} row={row} most={most} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="none">No calls in the last minute.</p>}
        {all.length > MOST && <p class="none">{all.length - MOST} more have fewer calls.</p>}
      </div>
    </Panel>
  );
}

function Heads() {
  const { column, isAscending } = order.value;
  const sort = (chosen: Column) => {
    order.value = { column: chosen, isAscending: chosen === column ? !isAscending : chosen === 'name' };
    names = [];
  };
  const head = { by: column, isAscending, onSort: sort };
  return (
    <thead>
      <tr>
        <SortHead {...head} column="name">
          {{ method: 'Method', transport: 'Transport', who: 'Caller' }[by.value]}
        </SortHead>
        <th scope="col" class="on-wide">
          Last minute
        </th>
        <SortHead {...head} column="rate" class="number" title="Average of the last 10 seconds">
          Calls/s
        </SortHead>
        <SortHead {...head} column="errors" class="number" title="Failed calls of the last 10 seconds">
          Errors
        </SortHead>
        <SortHead {...head} column="p50" class="number on-mid">
          p50
        </SortHead>
        <SortHead {...head} column="p90" class="number on-mid">
          p90
        </SortHead>
        <SortHead {...head} column="p99" class="number">
          p99
        </SortHead>
      </tr>
    </thead>
  );
}

function RowLine({ row, most }: { row: Standing; most: number }) {
  const part = most > 0 ? row.rate / most : 0;
  return (
    <tr class={row.calls === 0 ? 'idle' : ''}>
      <th scope="row">
        <svg class="part" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
          <rect width={100 * part} height="1" />
        </svg>
        <Name name={row.name} />
      </th>
      <td class="on-wide">
        <Sparkline values={row.past} width={96} height={20} slots={KEPT} />
      </td>
      <td class="number">{compact(row.rate)}</td>
      <td class={`number ${row.errors > 0 ? 'bad' : ''}`}>{share(row.errors, row.calls)}</td>
      <td class="number on-mid">{duration(row.p50)}</td>
      <td class="number on-mid">{duration(row.p90)}</td>
      <td class="number">{duration(row.p99)}</td>
    </tr>
  );
}

/** What the server puts all unknown methods under, and all callers beyond the first ones. */
const OTHER = '_OTHER';

/** A name, which lists its calls where the server can find them by it. */
function Name({ name }: { name: string }) {
  if (name === OTHER) return <span class="muted">{by.value === 'method' ? 'unknown methods' : 'others'}</span>;
  const isListed = by.value === 'method' || (by.value === 'who' && name !== 'anonymous');
  if (!isListed) return <span class="mono cut">{name}</span>;
  const choose = () => {
    filter.value = by.value === 'method' ? { ...filter.value, method: name } : { ...filter.value, who: name };
    document.getElementById('calls')?.scrollIntoView({ block: 'nearest' });
  };
  return (
    <button type="button" class="name mono cut" title={`List calls: ${name}`} onClick={choose}>
      {name}
    </button>
  );
}

/** Sorts the rows; while they are held, only new ones are added, at the end. */
function inOrder(all: readonly Standing[]): readonly Standing[] {
  const { column, isAscending } = order.value;
  if (!held.isHeld() || names.length === 0) {
    const fresh = sorted(all, column, isAscending);
    names = fresh.map((row) => row.name);
    return fresh;
  }
  const places = new Map(names.map((name, at) => [name, at]));
  const at = (row: Standing) => places.get(row.name) ?? names.length;
  return [...all].sort((one, other) => at(one) - at(other));
}
