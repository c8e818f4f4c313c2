/** The conversation as a sequence diagram, which grows as messages go and come. */

import { signal } from '@preact/signals';
import { useRef } from 'preact/hooks';
import { conversation } from '../diagram/conversation.js';
import type { Exchange } from '../rpc/exchange.js';
import { KEPT_EXCHANGES, log, pushCount, pushes } from '../state/traffic.js';
import { Segmented } from './controls.js';
import { Drawing, InWords, SaveDrawing, useFollowing, useWidth } from './drawing.js';

type Scope = 'all' | 'one';
const scope = signal<Scope>('all');

const SCOPES: readonly { value: Scope; label: string; hint: string }[] = [
  { value: 'all', label: 'All messages', hint: 'Everything that was sent and received' },
  { value: 'one', label: 'This request', hint: 'The selected request and its answers' },
];

export function Diagram({ exchange }: { exchange: Exchange }) {
  const drawing = useRef<SVGSVGElement>(null);
  const [box, width] = useWidth();
  const isAll = scope.value === 'all';
  const chosen = isAll ? log.value : [exchange];
  for (const each of chosen) void each.revision.value;
  const rows = isAll
    ? conversation(chosen, pushes.value, {
        lostPushes: pushCount.value - pushes.value.length,
        hasOlder: log.value.length === KEPT_EXCHANGES,
      })
    : conversation(chosen, []);
  useFollowing(box, rows.length);
  const hosts = [...new Set(chosen.map(({ sent }) => new URL(sent.url).host))];
  return (
    <section class="diagram" aria-label="Sequence diagram" ref={box}>
      <div class="result-tools">
        <Segmented label="Messages to draw" choices={SCOPES} value={scope.value} onChoose={(value) => (scope.value = value)} />
        <span class="spacer" />
        <SaveDrawing drawing={drawing} />
      </div>
      <Drawing rows={rows} width={width} client="Playground" server={hosts.join(', ')} drawing={drawing} />
      <InWords rows={rows} />
    </section>
  );
}
