/** One call with its batch and its calls back, as bars over time. */

import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { IconButton } from '../../ui/controls.js';
import { CloseIcon } from '../../ui/icons.js';
import { token } from '../connection.js';
import { bytes, counted, duration, preciseClock } from '../format.js';
import type { CallRecord, Timeline } from '../records.js';
import { type Bar, alone, bars, extent, nameOf } from '../timeline.js';
import { call } from '../wire.js';
import { Outcome } from './outcome.js';

interface Opened {
  readonly timeline: Timeline;
  /** Why the timeline has the call alone. */
  readonly note: string;
}

const opened = signal<Opened | undefined>(undefined);

/** Opens a call: what the list knows about it at once, and the rest when the server has answered. */
export function openCall(record: CallRecord): void {
  const shown = { timeline: alone(record), note: '' };
  opened.value = shown;
  const outgoing = { method: 'admin/call', params: { id: record.id }, token: token.value, signal: AbortSignal.timeout(5_000) };
  const isShown = () => opened.value === shown;
  call<Timeline>(outgoing).then(
    // A server that has restarted uses the numbers again.
    (timeline) => {
      if (isShown() && timeline.call.t === record.t) opened.value = { timeline, note: '' };
    },
    () => {
      if (isShown()) opened.value = { ...shown, note: 'The server keeps the last 1,000 calls, and this one is no longer among them.' };
    },
  );
}

export function TimelineDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = opened.value !== undefined;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  if (!opened.value) return null;
  const { timeline, note } = opened.value;
  const close = () => dialog.current?.close();
  const onBackdrop = (event: MouseEvent) => {
    if (event.target === dialog.current) close();
  };
  return (
    <dialog
      class="dialog timeline"
      aria-labelledby="timeline-title"
      ref={dialog}
      onClose={() => (opened.value = undefined)}
      onClick={onBackdrop}
    >
      <div class="dialog-body">
        <div class="dialog-head">
          <h2 id="timeline-title" class="mono cut">
            {nameOf(timeline.call)}
          </h2>
          <IconButton label="Close" onClick={close}>
            <CloseIcon />
          </IconButton>
        </div>
        <Facts call={timeline.call} />
        <Bars timeline={timeline} />
        {note && <p class="note">{note}</p>}
        <Steps timeline={timeline} />
      </div>
    </dialog>
  );
}

function Facts({ call: record }: { call: CallRecord }) {
  const facts: [string, string | undefined][] = [
    ['Duration', duration(record.ms)],
    ['Ended', preciseClock(record.t)],
    ['Caller', record.who ?? 'anonymous'],
    ['Peer', record.peer],
    ['Transport', record.transport],
    ['Session', record.session],
    ['Params', bytes(record.bytesIn)],
    ['Response', bytes(record.bytesOut)],
    ['Stream', record.items === undefined ? undefined : counted(record.items, 'item')],
    ['Trace', record.trace],
    ['Incident', record.incident],
  ];
  return (
    <dl class="facts">
      <div>
        <dt>Outcome</dt>
        <dd>
          <Outcome call={record} />
        </dd>
      </div>
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function Bars({ timeline }: { timeline: Timeline }) {
  const all = bars(timeline);
  const { from, to } = extent(all);
  const part = (at: number) => ((at - from) / (to - from)) * 1000;
  return (
    <figure class="bars" tabIndex={0} aria-label={`Timeline of ${counted(all.length, 'call')}`}>
      <ol>
        {all.map((bar) => (
          <li key={`${bar.kind} ${bar.number}`} class={`bar ${bar.kind} ${bar.isFailed ? 'failed' : ''}`} title={titleOf(bar)}>
            <span class="bar-label mono cut">
              {bar.kind === 'callback' && <span class="muted">← </span>}
              {bar.kind !== 'callback' && bar.number !== undefined && <span class="muted">{bar.number} </span>}
              {bar.label}
            </span>
            <svg viewBox="0 0 1000 18" preserveAspectRatio="none" aria-hidden="true" focusable="false">
              <rect class="bar-track" width="1000" height="18" />
              <rect class="bar-body" x={Math.min(part(bar.from), 994)} width={Math.max(6, part(bar.to) - part(bar.from))} height="18" />
            </svg>
            <span class="bar-time">{duration(bar.to - bar.from)}</span>
            <span class="unseen">{titleOf(bar)}</span>
          </li>
        ))}
      </ol>
      <figcaption>
        <span>{signed(from)}</span>
        <span>{signed((from + to) / 2)}</span>
        <span>{signed(to)}</span>
      </figcaption>
    </figure>
  );
}

function titleOf(bar: Bar): string {
  const what = bar.kind === 'callback' ? `Call back: ${bar.label}` : bar.label;
  return `${what} ${bar.detail}, from ${signed(bar.from)} to ${signed(bar.to)}`;
}

function Steps({ timeline }: { timeline: Timeline }) {
  return (
    <details class="steps" open={timeline.steps.length <= 8}>
      <summary>{counted(timeline.steps.length, 'step')}</summary>
      <ol>
        {timeline.steps.map((step, at) => (
          <li key={at}>
            <span class="step-time">{signed(step.at)}</span>
            <span class="step-name">{step.name}</span>
            <span class="mono">{step.detail.trim()}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function signed(ms: number): string {
  return ms < 0 ? `−${duration(-ms)}` : duration(ms);
}
