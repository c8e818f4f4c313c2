/** A line without axes, beside a number that says the same. */

import { area, line, linear } from '../scale.js';

export function Sparkline(props: {
  values: readonly number[];
  width: number;
  height: number;
  /** How many values there is room for; the last one is at the right. */
  slots: number;
  isFilled?: boolean;
}) {
  const { width, height, slots } = props;
  const values = props.values.slice(-slots);
  const scale = linear(Math.max(...values, 0), 1e-6);
  const dots = values.map((value, at) => ({
    x: ((at + slots - values.length) / (slots - 1)) * width,
    y: 1 + (1 - scale.at(value)) * (height - 2),
    isFirst: at === 0,
  }));
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true" focusable="false">
      {props.isFilled && <path class="spark-area" d={area(dots, height)} />}
      <path class="spark-line" d={line(dots)} />
    </svg>
  );
}
