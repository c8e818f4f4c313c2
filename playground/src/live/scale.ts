/** Axes and lines of charts, as numbers. */

/** From a value to a place on an axis: 0 at its start, 1 at its end. */
export interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

/** An axis from 0 to a round number, which has room for a value. */
export function linear(most: number, least = 1): Scale {
  const wanted = Math.max(most, least);
  const power = 10 ** Math.floor(Math.log10(wanted));
  const top = [1, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((limit) => limit >= wanted - 1e-9) ?? wanted;
  return { ticks: [0, top / 2, top], at: (value) => value / top };
}

/** A logarithmic axis around positive values. */
export function logarithmic(values: readonly number[]): Scale {
  const positive = values.filter((value) => value > 0);
  const [least, most] = positive.length > 0 ? [Math.min(...positive), Math.max(...positive)] : [1, 10];
  // At least one power of ten, so that a steady value is a line in the middle.
  let [low, high] = [Math.log10(least) - 0.25, Math.log10(most) + 0.15];
  if (high - low < 1) [low, high] = [(low + high - 1) / 2, (low + high + 1) / 2];
  const steps = high - low > 2 ? [1] : [1, 3];
  const ticks: number[] = [];
  for (let decade = Math.floor(low); decade <= high; decade += 1) {
    for (const step of steps) {
      const tick = step * 10 ** decade;
      if (Math.log10(tick) >= low && Math.log10(tick) <= high) ticks.push(tick);
    }
  }
  return { ticks, at: (value) => (Math.log10(Math.max(value, 1e-9)) - low) / (high - low) };
}

/** A point of a line; without a value the line is interrupted. */
export interface Dot {
  readonly x: number;
  readonly y: number | undefined;
  /** The line does not come from the point before. */
  readonly isFirst: boolean;
}

/** The pieces of a line, without its gaps. */
export function pieces(dots: readonly Dot[]): { readonly x: number; readonly y: number }[][] {
  const all: { x: number; y: number }[][] = [];
  let isOpen = false;
  for (const { x, y, isFirst } of dots) {
    if (y === undefined) {
      isOpen = false;
      continue;
    }
    if (!isOpen || isFirst) all.push([]);
    all.at(-1)!.push({ x, y });
    isOpen = true;
  }
  return all;
}

/** A line as the path of an SVG. A single point is a short stroke. */
export function line(dots: readonly Dot[]): string {
  return pieces(dots)
    .map((piece) => (piece.length === 1 ? `M${place(piece[0]!)}h1` : `M${piece.map(place).join('L')}`))
    .join('');
}

/** What lies between a line and the bottom. */
export function area(dots: readonly Dot[], bottom: number): string {
  return pieces(dots)
    .filter((piece) => piece.length > 1)
    .map((piece) => `M${round(piece[0]!.x)} ${bottom}L${piece.map(place).join('L')}L${round(piece.at(-1)!.x)} ${bottom}Z`)
    .join('');
}

function place({ x, y }: { x: number; y: number }): string {
  return `${round(x)} ${round(y)}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
