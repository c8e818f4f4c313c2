/** The charts of the page. */

import { useLayoutEffect, useRef } from 'preact/hooks';
import { theme } from '../../state/theme.js';
import { compact, duration } from '../format.js';
import { frame } from '../frame.js';
import { type HeatMap, heatMap, heightOf } from '../histogram.js';
import { latest, limits, series, span } from '../numbers.js';
import { linear, logarithmic } from '../scale.js';
import type { Point } from '../series.js';
import { EDGE, HEIGHT, type Line, LineChart, Ticks, TimeChart } from './chart.js';

const RATES: readonly Line[] = [
  { label: 'calls', class: 'l-accent', isFilled: true, of: (point) => point.calls },
  { label: 'errors', class: 'l-bad', isFilled: true, of: (point) => point.errors },
];

const PERCENTILES: readonly Line[] = [
  { label: 'p50', class: 'l-accent', of: (point) => point.p50 },
  { label: 'p90', class: 'l-warm', of: (point) => point.p90 },
  { label: 'p99', class: 'l-cool', of: (point) => point.p99 },
];

const COUNT: readonly Line[] = [{ label: 'calls', class: 'l-plain', of: (point) => point.count }];

export function CallsChart() {
  const scaleOf = (points: readonly Point[]) => linear(Math.max(0, ...points.map((point) => point.calls)), 10);
  return <LineChart title="Calls per second" lines={RATES} scaleOf={scaleOf} format={compact} />;
}

export function LatencyChart() {
  const scaleOf = (points: readonly Point[]) => logarithmic(points.flatMap(({ p50, p99 }) => [p50 ?? 0, p99 ?? 0]));
  return <LineChart title="Latency" lines={PERCENTILES} scaleOf={scaleOf} format={duration} />;
}

/** How many calls took how long, over time. */
export function LatencyMap() {
  void frame.value;
  const [end, each] = [latest?.t ?? 0, columnMs()];
  // Columns begin at round times, so that a call stays in its column.
  const to = Math.ceil(end / each) * each;
  const columns = Math.ceil(span.value / each) + 1;
  const map = heatMap(series.points, limits(), to - columns * each, to, columns);
  // Where a column begins, as part of the width.
  const placed = (column: number) => 1 - (end - to + (columns - column) * each) / span.value;
  const marks = decades(map).map((value) => {
    const height = heightOf(map, value) ?? 0;
    return { value, y: EDGE.top + (1 - height) * (HEIGHT - EDGE.top - EDGE.bottom) };
  });
  const scale = (
    <span class="legend-item">
      fewer <span class="ramp" aria-hidden="true" /> more
    </span>
  );
  return (
    <TimeChart
      title="Latency distribution"
      lines={COUNT}
      format={compact}
      legend={scale}
      class="heat"
      behind={(width) => <Cells map={map} placed={placed} width={width} />}
      draw={(width) => <Ticks ticks={marks} format={duration} width={width} />}
    />
  );
}

/** Columns wide enough to be seen, in milliseconds. */
function columnMs(): number {
  return Math.max(1_000, span.value / 100);
}

/** The powers of ten within the map; and three times those, where there are few. */
function decades(map: HeatMap): number[] {
  const [low, high] = [map.edges[0] ?? 1, map.edges.at(-1) ?? 1];
  const powers = Array.from({ length: 10 }, (_, at) => 10 ** (at - 4));
  const inside = powers.filter((value) => value >= low && value <= high);
  return inside.length > 2 ? inside : powers.flatMap((value) => [value, 3 * value]).filter((value) => value >= low && value <= high);
}

function Cells({ map, placed, width }: { map: HeatMap; placed: (column: number) => number; width: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [inner, height] = [width - EDGE.left - EDGE.right, HEIGHT - EDGE.top - EDGE.bottom];
  useLayoutEffect(() => paint(canvas.current!, map, placed, inner, height), [map, width, theme.value]);
  return <canvas ref={canvas} class="cells" aria-hidden="true" />;
}

/** Paints each cell in the colour of the element, the stronger the more calls it has. */
function paint(canvas: HTMLCanvasElement, map: HeatMap, placed: (column: number) => number, width: number, height: number): void {
  const { columns, rows, cells, most } = map;
  const density = Math.min(2, window.devicePixelRatio || 1);
  const [wide, high] = [Math.round(width * density), Math.round(height * density)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const context = canvas.getContext('2d');
  if (!context) return;
  context.clearRect(0, 0, wide, high);
  context.fillStyle = getComputedStyle(canvas).color;
  const cellHigh = high / rows;
  for (let column = 0; column < columns; column += 1) {
    for (let row = 0; row < rows; row += 1) {
      const count = cells[column * rows + row]!;
      if (count === 0) continue;
      // Few calls among many are what one looks for: they must be seen.
      context.globalAlpha = 0.14 + 0.86 * (Math.log1p(count) / Math.log1p(most));
      const [x, y] = [Math.round(placed(column) * wide), Math.round((rows - 1 - row) * cellHigh)];
      context.fillRect(x, y, Math.round(placed(column + 1) * wide) - x - 1, Math.round((rows - row) * cellHigh) - y - 1);
    }
  }
}
