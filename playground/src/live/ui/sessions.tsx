/** Who is connected. */

import { age, compact, counted, whole } from '../format.js';
import { sessionsFrame } from '../frame.js';
import { serverNow, sessions } from '../numbers.js';
import type { SessionRecord } from '../records.js';
import { Panel } from './panel.js';

/** Sessions that are drawn: those with the most calls. */
const MOST = 50;

export function SessionsPanel() {
  void sessionsFrame.value;
  const busiest = [...sessions].sort((one, other) => other.calls - one.calls).slice(0, MOST);
  // The oldest first: then sessions keep their places.
  const shown = busiest.sort((one, other) => one.since - other.since);
  const now = serverNow();
  return (
    <Panel title="Sessions" more={<span class="hint">{counted(sessions.length, 'open session')}</span>} class="tall">
      <div class="scroll" tabIndex={0} role="region" aria-label="Sessions, table">
        <table class="sessions">
          <thead>
            <tr>
              <th scope="col">Caller</th>
              <th scope="col">Over</th>
              <th scope="col" class="number">
                Age
              </th>
              <th scope="col" class="number">
                Calls
              </th>
              <th scope="col" class="number">
                Streams
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((session) => (
              <SessionLine key={session.id} session={session} now={now} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="none">No open sessions.</p>}
        {sessions.length > MOST && <p class="none">{whole(sessions.length - MOST)} more have fewer calls.</p>}
      </div>
    </Panel>
  );
}

function SessionLine({ session, now }: { session: SessionRecord; now: number }) {
  const { id, who, peer, transport, since, calls, streams } = session;
  return (
    <tr title={`Session ${id}`}>
      <th scope="row">
        <span class="cut">{who ?? <span class="muted">anonymous</span>}</span>
        <span class="cut small-line">{peer ?? 'local'}</span>
      </th>
      <td>{transport}</td>
      <td class="number">{age(now - since)}</td>
      <td class="number">{compact(calls)}</td>
      <td class="number">{compact(streams)}</td>
    </tr>
  );
}
