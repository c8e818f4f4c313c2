/** How a call ended. */

import type { CallRecord } from '../records.js';
import { outcomeOf } from '../timeline.js';

export function Outcome({ call }: { call: CallRecord }) {
  return <span class={`outcome ${call.outcome === 'ok' ? 'good' : 'bad'}`}>{outcomeOf(call)}</span>;
}
