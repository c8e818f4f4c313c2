/** A sequence diagram as it is drawn, read and saved. */

import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Arrow } from '../diagram/arrow.js';
import type { Row } from '../diagram/conversation.js';
import { svgFile } from '../diagram/file.js';
import { HEAD, type Placed, layOut } from '../diagram/layout.js';
import { idColour } from '../rpc/ids.js';
import { time } from './amounts.js';
import { saveFile } from './save.js';

/** Where the times end, and the margin on the right. */
const GUTTER = 60;
const EDGE = 20;
/** The width of a character of a label. */
const CHARACTER = 7.3;

interface DrawingProps {
  readonly rows: readonly Row[];
  readonly width: number;
  /** The names of the two sides. */
  readonly client: string;
  readonly server: string;
  readonly drawing: preact.RefObject<SVGSVGElement | null>;
}

export function Drawing({ rows, width, client, server, drawing }: DrawingProps) {
  const layout = layOut(rows);
  const [left, right] = [GUTTER + EDGE, width - EDGE * 2];
  const title = `Sequence diagram of the messages between ${client === 'Playground' ? 'this page' : client} and ${server}`;
  return (
    <svg
      xmlns="http://www.w3.org/2000/svg"
      class="seq"
      ref={drawing}
      width={width}
      height={layout.height}
      viewBox={`0 0 ${width} ${layout.height}`}
      role="img"
      aria-label={title}
    >
      <title>{title}</title>
      <rect class="seq-ground" width={width} height={layout.height} />
      {[left, right].map((x) => (
        <line key={x} class="seq-life" x1={x} x2={x} y1={HEAD - 8} y2={layout.height - 8} />
      ))}
      <Side x={left} anchor="start" name={client} width={width} />
      <Side x={right} anchor="end" name={server || 'Server'} width={width} />
      {layout.rows.map((placed, at) => (
        <RowShape key={at} placed={placed} left={left} right={right} />
      ))}
    </svg>
  );
}

/** The name of a side, above its line. */
function Side({ x, anchor, name, width }: { x: number; anchor: 'start' | 'end'; name: string; width: number }) {
  const shown = clipped(name, (width - 2 * GUTTER) / 2);
  const wide = shown.length * CHARACTER + 20;
  const from = anchor === 'start' ? x - 24 : x + 24 - wide;
  return (
    <>
      <rect class="seq-side" x={from} y={10} width={wide} height={28} rx={7} />
      <text class="seq-label" x={from + wide / 2} y={28} text-anchor="middle">
        {shown}
      </text>
    </>
  );
}

function RowShape({ placed: { row, y, at, pause }, left, right }: { placed: Placed; left: number; right: number }) {
  const middle = (left + right) / 2;
  return (
    <>
      {pause !== undefined && (
        <text class="seq-small" x={middle} y={y - (row.kind === 'arrow' ? 33 : 22)} text-anchor="middle">
          {time(pause)} later
        </text>
      )}
      {at !== undefined && (
        <text class="seq-small" x={GUTTER} y={y + 4} text-anchor="end">
          {time(at)}
        </text>
      )}
      {row.kind === 'arrow' ? (
        <ArrowShape arrow={row.arrow} y={y} left={left} right={right} />
      ) : (
        <text class={row.kind === 'note' && row.isFailure ? 'seq-small seq-failure' : 'seq-small'} x={middle} y={y} text-anchor="middle">
          {row.kind === 'fold' ? `⋮ ${row.text} ⋮` : clipped(row.text, right - left)}
        </text>
      )}
    </>
  );
}

function ArrowShape({ arrow, y, left, right }: { arrow: Arrow; y: number; left: number; right: number }) {
  const [from, to] = arrow.isSent ? [left, right] : [right, left];
  const back = arrow.isSent ? -8 : 8;
  const id = arrow.id === undefined ? undefined : clipped(arrow.id, 110);
  const room = right - left - 16 - (arrow.word.length + 1 + (id === undefined ? 0 : id.length + 4)) * CHARACTER;
  return (
    <g class={`seq-${arrow.kind}`}>
      <text class="seq-label" x={(left + right) / 2} y={y - 7} text-anchor="middle">
        <tspan class="seq-word">{arrow.word}</tspan>
        {arrow.detail !== '' && ` ${clipped(arrow.detail, room)}`}
        {id !== undefined && (
          <>
            <tspan dx="8">id </tspan>
            <tspan class={`seq-id id-${idColour(arrow.id!)}`}>{id}</tspan>
          </>
        )}
      </text>
      <line class="seq-line" x1={from} x2={to + back} y1={y} y2={y} />
      <path class="seq-point" d={`M${to} ${y}l${back} -5v10z`} />
    </g>
  );
}

/** A text that fits into a width. */
function clipped(text: string, width: number): string {
  const most = Math.max(1, Math.floor(width / CHARACTER));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}

/** The same for those who do not see it. */
export function InWords({ rows }: { rows: readonly Row[] }) {
  return (
    <details class="seq-text">
      <summary>Show as text</summary>
      <ol>
        {layOut(rows).rows.map((placed, at) => (
          <li key={at}>{inWords(placed)}</li>
        ))}
      </ol>
    </details>
  );
}

export function SaveDrawing({ drawing }: { drawing: preact.RefObject<SVGSVGElement | null> }) {
  return (
    <button
      type="button"
      class="quiet small"
      onClick={() => saveFile('conversation.svg', 'image/svg+xml', svgFile(drawing.current!, document.styleSheets))}
    >
      Save as SVG
    </button>
  );
}

function inWords({ row, at }: Placed): string {
  if (row.kind === 'fold') return `… ${row.text} …`;
  if (row.kind === 'note') return `${time(at ?? 0)}: ${row.text}`;
  const { arrow } = row;
  const id = arrow.id === undefined ? '' : `, id ${arrow.id}`;
  return `${time(at ?? 0)}, ${arrow.isSent ? 'sent' : 'received'}: ${`${arrow.word} ${arrow.detail}`.trim()}${id}`;
}

/** The width that there is for a drawing. */
export function useWidth(): [preact.RefObject<HTMLElement | null>, number] {
  const box = useRef<HTMLElement>(null);
  const [width, setWidth] = useState(480);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setWidth(Math.max(280, Math.min(800, Math.floor(entry!.contentRect.width)))));
    watcher.observe(box.current!);
    return () => watcher.disconnect();
  }, []);
  return [box, width];
}

/** Keeps the end in sight, unless the reader scrolled away from it. */
export function useFollowing(box: preact.RefObject<HTMLElement | null>, rows: number): void {
  const isAtEnd = useRef(true);
  useEffect(() => {
    const pane = box.current?.closest('.pane-scroll');
    const note = () => (isAtEnd.current = !!pane && pane.scrollHeight - pane.scrollTop - pane.clientHeight < 80);
    pane?.addEventListener('scroll', note);
    return () => pane?.removeEventListener('scroll', note);
  }, [box]);
  useEffect(() => {
    const pane = box.current?.closest('.pane-scroll');
    if (pane && isAtEnd.current) pane.scrollTop = pane.scrollHeight;
  }, [box, rows]);
}
