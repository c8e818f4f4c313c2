/** What is connected to what: clients, the gateway, its upstreams and their servers, with their traffic and health. */

import type { ComponentChildren } from 'preact';
import { age, compact, counted, duration, share, whole } from '../format.js';
import { frame } from '../frame.js';
import { latest, serverNow } from '../numbers.js';
import type { NodeRecord, UpstreamRecord } from '../records.js';
import {
  type Health,
  type Link,
  clientLinks,
  groupHeight,
  height,
  nodeHealth,
  nodeLinks,
  path,
  thickness,
  upstreamHealth,
  upstreamLinks,
} from '../topology.js';
import { hasUpstreams, rateOf, transports, upstreams } from '../upstreams.js';
import { Panel } from './panel.js';

/** The width of the space that lines cross. */
const WIDTH = 64;

export function TopologyPanel() {
  void frame.value;
  if (!hasUpstreams.value) return null;
  const clients = openClients();
  const tall = height(upstreams, clients.length);
  const available = upstreams.flatMap(({ nodes }) => nodes).filter((node) => nodeHealth(node) === 'good').length;
  const all = upstreams.flatMap(({ nodes }) => nodes).length;
  const more = <span class="hint">{`${counted(upstreams.length, 'upstream')} · ${available} of ${counted(all, 'server')} up`}</span>;
  return (
    <Panel title="Topology" more={more} class="all topology-panel">
      <div class="topology">
        <ul class="clients beside" aria-label="Clients">
          {clients.map((client) => (
            <li key={client.name} class="box client">
              <b class="cut">{client.name}</b>
              <span class="cut small-line">{`${counted(client.open, 'session')} · ${compact(client.rate)}/s`}</span>
            </li>
          ))}
        </ul>
        <Links class="beside" links={clientLinks(clients, tall)} tall={tall} />
        <div class="box hub beside">
          <b class="cut">Gateway</b>
          <span class="cut small-line">{`${whole(latest?.inFlight ?? 0)} in flight`}</span>
        </div>
        <Links class="beside" links={upstreamLinks(upstreams, tall, ({ name }) => rateOf(name))} tall={tall} />
        <ul class="groups" aria-label="Upstreams">
          {upstreams.map((upstream) => (
            <Group key={upstream.name} upstream={upstream} />
          ))}
        </ul>
      </div>
    </Panel>
  );
}

/** Transports that are in use, the busiest first. */
function openClients(): { name: string; open: number; rate: number }[] {
  const rates = new Map(transports.standings().map(({ name, rate }) => [name, rate]));
  const names = new Set([...Object.keys(latest?.sessions ?? {}), ...rates.keys()]);
  const all = [...names].map((name) => ({ name, open: latest?.sessions[name] ?? 0, rate: rates.get(name) ?? 0 }));
  return all.filter(({ open, rate }) => open > 0 || rate > 0).sort((one, other) => one.name.localeCompare(other.name));
}

function Group({ upstream }: { upstream: UpstreamRecord }) {
  const { name, prefix, state, breaker, nodes } = upstream;
  const health = upstreamHealth(upstream);
  return (
    <li class="group">
      <div class={`box upstream is-${health}`}>
        <p class="box-head">
          <b class="cut" title={prefix ? `${name}: methods ${prefix}…` : `${name}: methods without a prefix`}>
            {name}
          </b>
          <Badge health={health}>{health === 'off' ? 'drained' : state}</Badge>
        </p>
        <p class="cut small-line">{`${compact(rateOf(name))}/s · ${whole(upstream.inFlight)} in flight`}</p>
        <p class={`cut small-line ${breaker && breaker !== 'closed' ? 'is-bad-text' : ''}`}>{policies(upstream)}</p>
      </div>
      <Links links={nodeLinks(upstream, ({ url }) => rateOf(name, url))} tall={groupHeight(nodes.length)} />
      <ul class="nodes" aria-label={`Servers of ${name}`}>
        {nodes.map((node) => (
          <Server key={node.url} node={node} rate={rateOf(name, node.url)} />
        ))}
      </ul>
    </li>
  );
}

/** What the policies of an upstream did. */
function policies({ breaker, retries, hedges, cache, errors, calls }: UpstreamRecord): string {
  const said = breaker && breaker !== 'closed' ? [`breaker ${breaker}`] : [];
  if (errors > 0) said.push(`${share(errors, calls)} failed`);
  if (retries > 0) said.push(`${whole(retries)} sent again`);
  if (hedges > 0) said.push(`${whole(hedges)} hedged`);
  const asked = cache ? cache.hits + cache.stale + cache.misses : 0;
  if (cache && asked > 0) said.push(`cache ${share(cache.hits + cache.stale, asked)}`);
  return said.join(' · ') || 'no failures';
}

function Server({ node, rate }: { node: NodeRecord; rate: number }) {
  const health = nodeHealth(node);
  const left = node.until === undefined ? '' : ` for ${age(node.until - serverNow())}`;
  const numbers = [`${compact(rate)}/s`, `${whole(node.inFlight)} in flight`, duration(node.latencyMs)];
  if (node.lag) numbers.push(`${whole(node.lag)} behind`);
  const reason = node.reason && health !== 'good' ? node.reason : undefined;
  return (
    <li class={`box node is-${health}`}>
      <p class="box-head">
        <span class="mono cut" title={node.url}>
          {node.url}
        </span>
        <Badge health={health}>{`${node.state}${left}`}</Badge>
      </p>
      <p class="cut small-line" title={reason}>
        {reason ?? numbers.join(' · ')}
      </p>
    </li>
  );
}

function Badge({ health, children }: { health: Health; children: ComponentChildren }) {
  return <span class={`state is-${health}`}>{children}</span>;
}

function Links(props: { links: readonly Link[]; tall: number; class?: string }) {
  return (
    <svg class={`links ${props.class ?? ''}`} viewBox={`0 0 ${WIDTH} ${props.tall}`} height={props.tall} preserveAspectRatio="none" aria-hidden="true">
      {props.links.map((link) => (
        <g key={link.key} class={`is-${link.health}`} stroke-width={thickness(link.rate)}>
          <path class="wire" d={path(link, WIDTH)} />
          {link.rate > 0 && <path class="flow" d={path(link, WIDTH)} />}
        </g>
      ))}
    </svg>
  );
}
