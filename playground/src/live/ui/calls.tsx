/** The calls as they happen. */

import { signal } from '@preact/signals';
import type { TargetedKeyboardEvent } from 'preact';
import { Segmented } from '../../ui/controls.js';
import { calls, filter, isPaused, isSampled, problem } from '../calls.js';
import { EVERYTHING } from '../filter.js';
import { bytes, duration, preciseClock } from '../format.js';
import { callsFrame } from '../frame.js';
import { merge, quantile } from '../histogram.js';
import { limits, series } from '../numbers.js';
import type { CallRecord } from '../records.js';
import { nameOf } from '../timeline.js';
import { FilterBar } from './filter-bar.js';
import { hold } from './hold.js';
import { PauseIcon, PlayIcon } from './icons.js';
import { Outcome } from './outcome.js';
import { Panel, SortHead } from './panel.js';
import { openCall } from './timeline.js';

/** Calls that are drawn. */
const MOST = 50;

type Column = 't' | 'ms';
type Kind = 'all' | 'failed' | 'slow' | 'own';

const KINDS: readonly { value: Kind; label: string; hint: string }[] = [
  { value: 'all', label: 'All', hint: 'Every call' },
  { value: 'failed', label: 'Failed', hint: 'Every call that did not succeed' },
  { value: 'slow', label: 'Slow', hint: 'Calls slower than 99 of 100 in the last minutes' },
];

const order = signal<{ readonly column: Column; readonly isAscending: boolean }>({ column: 't', isAscending: false });
const held = hold();
let shown: readonly CallRecord[] = [];
let before = '';

export function CallsPanel() {
  void callsFrame.value;
  // Another order or another filter is wanted at once; new calls can wait.
  const wanted = JSON.stringify([order.value, filter.value, calls.length > 0]);
  if (!held.isHeld() || wanted !== before) shown = inOrder(calls);
  before = wanted;
  const newest = shown.reduce((most, { id }) => Math.max(most, id), 0);
  const waiting = calls.filter(({ id }) => id > newest).length;
  return (
    <Panel title="Calls" more={<Tools waiting={waiting} />} class="wide tall calls">
      <FilterBar />
      <div class="scroll" id="calls" {...held.events}>
        <table class="calls-table">
          <Heads />
          <tbody onKeyDown={rove}>
            {shown.map((call, at) => (
              <CallLine key={call.id} call={call} isFirst={at === 0} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <Nothing />}
      </div>
    </Panel>
  );
}

function Nothing() {
  if (problem.value) return <p class="none bad">{problem.value}</p>;
  const isFiltered = filter.value !== EVERYTHING;
  return <p class="none">{isFiltered ? 'No calls match this filter yet.' : 'No calls yet.'}</p>;
}

function Tools({ waiting }: { waiting: number }) {
  const { outcome, slowerThan } = filter.value;
  const kind: Kind = outcome === 'failed' && !slowerThan ? 'failed' : outcome === '' ? (slowerThan ? 'slow' : 'all') : 'own';
  const choose = (value: Kind) => {
    const limit = value === 'slow' ? slowLimit() : '';
    filter.value = { ...filter.value, outcome: value === 'failed' ? 'failed' : '', slowerThan: limit };
  };
  return (
    <div class="panel-tools">
      <span class="hint" role="status">
        {note(waiting)}
      </span>
      <Segmented label="Calls to list" choices={KINDS} value={kind} onChoose={choose} />
      <button type="button" class="small" aria-pressed={isPaused.value} onClick={() => (isPaused.value = !isPaused.value)}>
        {isPaused.value ? <PlayIcon /> : <PauseIcon />}
        {isPaused.value ? 'Resume' : 'Pause'}
      </button>
    </div>
  );
}

function note(waiting: number): string {
  if (isPaused.value) return 'Paused';
  if (waiting > 0) return 'Held while you point at it';
  return isSampled.value ? 'Many calls: a sample of each second' : '';
}

/** A limit that one call in a hundred exceeds. */
function slowLimit(): string {
  const p99 = quantile(merge(series.points.map((point) => point.buckets)), limits(), 0.99);
  return p99 === undefined ? '100ms' : p99 < 10 ? `${Math.max(0.1, Math.round(p99 * 10) / 10)}ms` : `${Math.round(p99)}ms`;
}

function Heads() {
  const { column, isAscending } = order.value;
  const sort = (chosen: Column) => {
    order.value = { column: chosen, isAscending: chosen === column && !isAscending };
  };
  const head = { by: column, isAscending, onSort: sort };
  return (
    <thead>
      <tr>
        <SortHead {...head} column="t">
          Time
        </SortHead>
        <th scope="col">Method</th>
        <th scope="col">Outcome</th>
        <SortHead {...head} column="ms" class="number">
          Duration
        </SortHead>
        <th scope="col" class="on-mid">
          Caller
        </th>
        <th scope="col" class="on-wide">
          Transport
        </th>
        <th scope="col" class="number on-wide">
          In / out
        </th>
      </tr>
    </thead>
  );
}

function CallLine({ call, isFirst }: { call: CallRecord; isFirst: boolean }) {
  const { who, peer } = call;
  return (
    <tr class="call" onClick={() => openCall(call)}>
      <td class="time">{preciseClock(call.t)}</td>
      <th scope="row">
        <button type="button" class="name mono cut" tabIndex={isFirst ? 0 : -1} aria-haspopup="dialog">
          {nameOf(call)}
        </button>
        {call.batch !== undefined && <span class="badge">batch</span>}
        {call.items !== undefined && <span class="badge stream">stream</span>}
      </th>
      <td>
        <Outcome call={call} />
      </td>
      <td class="number">{duration(call.ms)}</td>
      <td class="on-mid">
        <span class="cut">{who ?? <span class="muted">{peer ?? 'anonymous'}</span>}</span>
      </td>
      <td class="on-wide">{call.transport}</td>
      <td class="number on-wide">
        {bytes(call.bytesIn)} / {bytes(call.bytesOut)}
      </td>
    </tr>
  );
}

function inOrder(all: readonly CallRecord[]): readonly CallRecord[] {
  const { column, isAscending } = order.value;
  const sign = isAscending ? 1 : -1;
  return [...all].sort((one, other) => sign * (one[column] - other[column]) || other.id - one.id).slice(0, MOST);
}

/** Moves the focus among the calls: one stop of the Tab key, however many there are. */
function rove(event: TargetedKeyboardEvent<HTMLElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button')];
  const at = buttons.indexOf(document.activeElement as HTMLElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (next === undefined || at < 0) return;
  event.preventDefault();
  buttons[Math.max(0, Math.min(next, buttons.length - 1))]?.focus();
}
