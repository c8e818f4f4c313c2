/** Charts over time: an axis, lines, and what the reader points at. */

import type { ComponentChildren, TargetedKeyboardEvent, TargetedPointerEvent } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clock } from '../format.js';
import { frame } from '../frame.js';
import { cursor, latest, series, span } from '../numbers.js';
import { type Scale, area, line } from '../scale.js';
import type { Point } from '../series.js';
import { Panel } from './panel.js';

/** Room around the drawing. */
export const EDGE = { left: 52, right: 12, top: 8, bottom: 22 } as const;
export const HEIGHT = 190;

/** Times between two labels of the time axis. */
const STEPS = [15_000, 30_000, 60_000, 120_000, 180_000, 300_000];

/** A line of a chart. */
export interface Line {
  readonly label: string;
  readonly class: string;
  readonly isFilled?: boolean;
  readonly of: (point: Point) => number | undefined;
}

interface LineChartProps {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly scaleOf: (points: readonly Point[]) => Scale;
  /** A value in the legend, and on the axis. */
  readonly format: (value: number) => string;
}

/** A chart of lines. */
export function LineChart(props: LineChartProps) {
  const draw = (width: number) => <Drawing {...props} width={width} />;
  return <TimeChart title={props.title} lines={props.lines} format={props.format} draw={draw} />;
}

function Drawing(props: LineChartProps & { width: number }) {
  const drawn = useMemo(() => {
    const points = series.last(span.value);
    const scale = props.scaleOf(points);
    const y = (value: number) => EDGE.top + (1 - scale.at(value)) * (HEIGHT - EDGE.top - EDGE.bottom);
    const paths = props.lines.map((own) => {
      const dots = points.map((point) => {
        const value = own.of(point);
        return { x: xOf(point.t, props.width), y: value === undefined ? undefined : y(value), isFirst: point.isAfterGap };
      });
      return { own, line: line(dots), area: own.isFilled ? area(dots, HEIGHT - EDGE.bottom) : '' };
    });
    return { ticks: scale.ticks.map((value) => ({ value, y: y(value) })), paths };
  }, [frame.value, span.value, props.width]);
  return (
    <>
      <Ticks ticks={drawn.ticks} format={props.format} width={props.width} />
      {drawn.paths.map(({ own, line: path, area: filled }) => (
        <g key={own.label} class={own.class}>
          {filled && <path class="chart-area" d={filled} />}
          <path class="chart-line" d={path} />
        </g>
      ))}
    </>
  );
}

/** The values of an axis, and lines at them. */
export function Ticks(props: {
  ticks: readonly { readonly value: number; readonly y: number }[];
  format: (value: number) => string;
  width: number;
}) {
  return (
    <>
      {props.ticks.map(({ value, y }) => (
        <g key={value}>
          <line class="grid" x1={EDGE.left} x2={props.width - EDGE.right} y1={y} y2={y} />
          <text class="tick" x={EDGE.left - 8} y={y} dy="0.32em" text-anchor="end">
            {props.format(value)}
          </text>
        </g>
      ))}
    </>
  );
}

/** A panel with a time axis. All of them show the time that the reader points at. */
export function TimeChart(props: {
  title: string;
  lines: readonly Line[];
  format: (value: number) => string;
  /** Something else in the place of the lines' names. */
  legend?: ComponentChildren;
  class?: string;
  draw: (width: number) => ComponentChildren;
  /** What lies behind the drawing. */
  behind?: (width: number) => ComponentChildren;
}) {
  void frame.value;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const point = pointed();
  const isPointed = cursor.value !== undefined && point !== undefined;
  const values = props.lines.map((own) => ({ own, value: point && own.of(point) }));
  const said = values.map(({ own, value }) => `${own.label} ${value === undefined ? 'none' : props.format(value)}`).join(', ');
  const end = latest?.t ?? 0;
  const legend = (
    <div class="legend">
      {isPointed && <span class="legend-time">{clock(point.t)}</span>}
      {props.legend}
      {values.map(({ own, value }) => (
        <span key={own.label} class={`legend-item ${own.class}`}>
          <span class="swatch" aria-hidden="true" />
          {own.label} <b>{value === undefined ? '–' : props.format(value)}</b>
        </span>
      ))}
    </div>
  );
  return (
    <Panel title={props.title} more={legend} class={`chart ${props.class ?? ''}`}>
      <div
        class="chart-box"
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={`${props.title}: time`}
        aria-valuemin={Math.round(-span.value / 1000)}
        aria-valuemax={0}
        aria-valuenow={point ? Math.round((point.t - end) / 1000) : 0}
        aria-valuetext={point ? `${clock(point.t)}: ${said}` : 'no numbers yet'}
        onPointerMove={(event) => pointAt(event, width)}
        onPointerLeave={() => (cursor.value = undefined)}
        onBlur={() => (cursor.value = undefined)}
        onKeyDown={step}
      >
        {width > 0 && props.behind?.(width)}
        {width > 0 && (
          <svg width={width} height={HEIGHT} aria-hidden="true" focusable="false">
            <TimeAxis width={width} />
            {props.draw(width)}
            {isPointed && <line class="cursor" x1={xOf(point.t, width)} x2={xOf(point.t, width)} y1={EDGE.top} y2={HEIGHT - EDGE.bottom} />}
          </svg>
        )}
      </div>
    </Panel>
  );
}

function TimeAxis({ width }: { width: number }) {
  const inner = width - EDGE.left - EDGE.right;
  const each = STEPS.find((step) => (inner * step) / span.value >= 60) ?? span.value;
  const labels = Array.from({ length: Math.floor(span.value / each) + 1 }, (_, at) => {
    const ago = at * each;
    const text = ago === 0 ? 'now' : each < 60_000 ? `−${ago / 1000} s` : `−${ago / 60_000} min`;
    return { x: EDGE.left + inner * (1 - ago / span.value), text, anchor: at === 0 ? 'end' : 'middle' };
  });
  return (
    <>
      {labels.map(({ x, text, anchor }) => (
        <text key={text} class="tick" x={x} y={HEIGHT - 5} text-anchor={anchor as 'middle'}>
          {text}
        </text>
      ))}
    </>
  );
}

/** Where a time is in a drawing of this width. */
export function xOf(t: number, width: number): number {
  const end = latest?.t ?? 0;
  const inner = width - EDGE.left - EDGE.right;
  return Math.max(EDGE.left, EDGE.left + inner * (1 - (end - t) / span.value));
}

/** The point at the cursor, or the latest one. */
function pointed(): Point | undefined {
  const t = cursor.value;
  if (t === undefined) return series.points.at(-1);
  return series.points.reduce<Point | undefined>(
    (best, point) => (best === undefined || Math.abs(point.t - t) < Math.abs(best.t - t) ? point : best),
    undefined,
  );
}

function pointAt(event: TargetedPointerEvent<HTMLElement>, width: number): void {
  const x = event.clientX - event.currentTarget.getBoundingClientRect().left;
  const inner = width - EDGE.left - EDGE.right;
  const part = Math.min(1, Math.max(0, (x - EDGE.left) / inner));
  if (latest) cursor.value = latest.t - span.value * (1 - part);
}

function step(event: TargetedKeyboardEvent<HTMLElement>): void {
  const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity }[event.key];
  if (event.key === 'Escape') cursor.value = undefined;
  if (steps === undefined || !latest) return;
  event.preventDefault();
  const from = pointed()?.t ?? latest.t;
  cursor.value = Math.min(latest.t, Math.max(latest.t - span.value, from + steps * 1000));
}

/** The width of an element, as it changes. */
function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = box.current!;
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    setWidth(Math.floor(element.clientWidth));
    return () => observer.disconnect();
  }, []);
  return width;
}
