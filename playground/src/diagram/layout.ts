/** Where the rows of a diagram stand. */

import type { Row } from './conversation.js';

/** A row with its place. */
export interface Placed {
  readonly row: Row;
  /** The height of its line. */
  readonly y: number;
  /** Milliseconds since the first message; none where a row has no time. */
  readonly at: number | undefined;
  /** How long nothing happened before it, where that was long. */
  readonly pause: number | undefined;
}

export interface Layout {
  readonly rows: readonly Placed[];
  readonly height: number;
}

/** The height of the names of the two sides. */
export const HEAD = 48;
const ROW = 40;
const SMALL = 26;
const PAUSE = 22;
/** Longer silences are marked. */
const LONG = 1000;

export function layOut(rows: readonly Row[]): Layout {
  const placed: Placed[] = [];
  let y = HEAD;
  let start: number | undefined;
  let before: number | undefined;
  for (const row of rows) {
    const moment = row.kind === 'arrow' ? row.arrow.at : row.kind === 'note' ? row.at : undefined;
    start ??= moment;
    const silence = moment !== undefined && before !== undefined ? moment - before : 0;
    before = moment ?? before;
    const pause = silence >= LONG ? silence : undefined;
    y += (row.kind === 'arrow' ? ROW : SMALL) + (pause === undefined ? 0 : PAUSE);
    placed.push({ row, y, at: moment === undefined ? undefined : moment - start!, pause });
  }
  return { rows: placed, height: y + 24 };
}
