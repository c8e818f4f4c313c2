/** The result alone, or the whole response with its envelope. */

import { signal } from '@preact/signals';
import type { Exchange } from '../rpc/exchange.js';
import { time } from './amounts.js';
import { Segmented } from './controls.js';
import { CopyButton } from './copy.js';
import { JsonView } from './json-view.js';
import { Result } from './result.js';

type Extent = 'result' | 'whole';
const extent = signal<Extent>('result');

const EXTENTS: readonly { value: Extent; label: string; hint: string }[] = [
  { value: 'result', label: 'Result', hint: 'Only the result, or the error' },
  { value: 'whole', label: 'Whole response', hint: 'The response object with jsonrpc and id' },
];

export function Response({ exchange }: { exchange: Exchange }) {
  void exchange.revision.value;
  const { frames } = exchange;
  if (frames.length === 0) return <Result exchange={exchange} />;
  const only = frames.length === 1 ? frames[0]!.message : undefined;
  const result = only?.kind === 'response' ? only.result : undefined;
  return (
    <>
      <div class="result-tools">
        <Segmented label="Part of the response" choices={EXTENTS} value={extent.value} onChoose={(value) => (extent.value = value)} />
        <span class="spacer" />
        {extent.value === 'whole' ? (
          <CopyButton text={frames.map(({ text }) => text).join('\n')} what="Response" />
        ) : (
          result !== undefined && <CopyButton text={result} what="Result" />
        )}
      </div>
      {extent.value === 'result' ? <Result exchange={exchange} /> : <Whole exchange={exchange} />}
    </>
  );
}

function Whole({ exchange }: { exchange: Exchange }) {
  const { frames, received } = exchange;
  if (frames.length === 1) return <JsonView text={frames[0]!.text} ids label="Whole response" />;
  return (
    <>
      {received > frames.length && <p class="muted">{received - frames.length} earlier messages are no longer kept.</p>}
      <ol class="frames" aria-label="Whole responses">
        {frames.map((frame, at) => (
          <li key={at + received - frames.length}>
            <span class="item-time mono">{time(frame.at)}</span>
            <JsonView text={frame.text} ids label={`Message ${at + 1 + received - frames.length}`} />
          </li>
        ))}
      </ol>
    </>
  );
}
