/** The page: the state of the server, its numbers, and its calls as they happen. */

import { phase } from '../connection.js';
import { CallsPanel } from './calls.js';
import { CallsChart, LatencyChart, LatencyMap } from './charts.js';
import { Header } from './header.js';
import { SessionsPanel } from './sessions.js';
import { RowsPanel } from './rows.js';
import { Tiles } from './tiles.js';
import { TimelineDialog } from './timeline.js';
import { TokenForm } from './token.js';
import { TopologyPanel } from './topology.js';
import { TroublesPanel } from './troubles.js';

export function App() {
  const { state } = phase.value;
  return (
    <div class="live">
      <Header />
      {state === 'locked' ? (
        <TokenForm />
      ) : (
        <main class={`board ${state === 'lost' || state === 'stopped' ? 'is-old' : ''}`}>
          <Tiles />
          <TopologyPanel />
          <CallsChart />
          <LatencyChart />
          <LatencyMap />
          <RowsPanel />
          <TroublesPanel />
          <CallsPanel />
          <SessionsPanel />
        </main>
      )}
      <TimelineDialog />
    </div>
  );
}
