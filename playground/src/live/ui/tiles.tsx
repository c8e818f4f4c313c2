/** The most important numbers, each with its last minute. */

import type { ComponentChildren } from 'preact';
import { NONE, bytes, compact, duration, share, whole } from '../format.js';
import { frame } from '../frame.js';
import { merge, quantile } from '../histogram.js';
import { latest, limits, series } from '../numbers.js';
import { type Point, mean } from '../series.js';
import { Sparkline } from './sparkline.js';

const MINUTE = 60_000;
/** Rates are averages of this many seconds, so that they can be read. */
const RECENT = 5;

const CALLS = (point: Point) => point.calls;
const IN_FLIGHT = (point: Point) => point.inFlight;
const STREAMS = (point: Point) => point.streams;

export function Tiles() {
  void frame.value;
  const minute = series.last(MINUTE);
  const recent = minute.slice(-RECENT);
  const rate = (value: (point: Point) => number) => (recent.length > 0 ? mean(recent, value) : undefined);
  const [calls, errors] = [rate(CALLS), rate((point) => point.errors)];
  const buckets = merge(minute.slice(-2 * RECENT).map((point) => point.buckets));
  const [p50, p99] = [0.5, 0.99].map((part) => quantile(buckets, limits(), part));
  const [into, out] = [rate((point) => point.bytesIn), rate((point) => point.bytesOut)];
  const peak = (value: (point: Point) => number) => (minute.length > 0 ? `peak ${compact(Math.max(...minute.map(value)))}` : '');
  const transports = Object.entries(latest?.sessions ?? {}).filter(([, open]) => open > 0);
  return (
    <section class="tiles" aria-label="Now">
      <Tile label="Calls" value={shown(calls, compact)} unit="/s" more={peak(CALLS)} points={minute} of={CALLS} />
      <Tile
        label="Errors"
        value={shown(errors, compact)}
        unit="/s"
        more={calls === undefined ? '' : `${share(errors ?? 0, calls)} of calls`}
        kind={errors ? 'bad' : ''}
        points={minute}
        of={(point) => point.errors}
      />
      <Tile label="Latency, p50" value={duration(p50)} more={`p99 ${duration(p99)}`} points={minute} of={(point) => point.p50} />
      <Tile
        label="In flight"
        value={shown(latest?.inFlight, whole)}
        unit={latest?.inFlight === 1 ? 'call' : 'calls'}
        more={latest?.waiting ? `${whole(latest.waiting)} waiting` : peak(IN_FLIGHT)}
        points={minute}
        of={IN_FLIGHT}
      />
      <Tile
        label="Sessions"
        value={shown(latest && minute.at(-1)?.sessions, whole)}
        more={transports.map(([name, open]) => `${name} ${whole(open)}`).join(' · ')}
        points={minute}
        of={(point) => point.sessions}
      />
      <Tile label="Streams" value={shown(latest?.streams, whole)} unit="open" more={peak(STREAMS)} points={minute} of={STREAMS} />
      <Tile
        label="Traffic"
        value={shown(into === undefined || out === undefined ? undefined : into + out, bytes)}
        unit="/s"
        more={into === undefined || out === undefined ? '' : `in ${bytes(into)} · out ${bytes(out)}`}
        points={minute}
        of={(point) => point.bytesIn + point.bytesOut}
      />
    </section>
  );
}

function Tile(props: {
  label: string;
  value: string;
  unit?: string;
  more?: ComponentChildren;
  kind?: string;
  points: readonly Point[];
  of: (point: Point) => number | undefined;
}) {
  return (
    <div class={`tile ${props.kind ?? ''}`}>
      <h2>{props.label}</h2>
      <p class="tile-value">
        {props.value}
        {props.unit && <span class="unit"> {props.unit}</span>}
      </p>
      <p class="tile-more">{props.more}</p>
      <Sparkline values={props.points.map((point) => props.of(point) ?? 0)} width={120} height={28} slots={60} isFilled />
    </div>
  );
}

function shown(value: number | undefined, format: (value: number) => string): string {
  return value === undefined ? NONE : format(value);
}
