/** A call with curl. */

import { type Plan, type PlanHeader, httpUrl } from './snippet.js';

export function curl(plan: Plan): string {
  const isEvents = plan.transport === 'sse';
  const note = plan.transport === 'ws' ? '# curl speaks HTTP; the same port takes both.\n' : '';
  const lines = [`curl ${isEvents ? '-N ' : ''}${quoted(httpUrl(plan))}`, `-H 'content-type: application/json'`];
  if (isEvents) lines.push(`-H 'accept: text/event-stream'`);
  lines.push(...plan.headers.map(header), `--data-binary ${quoted(plan.body)}`);
  return `${note}${lines.join(' \\\n  ')}\n`;
}

function header({ name, value, secret }: PlanHeader): string {
  if (!secret) return `-H ${quoted(`${name}: ${value}`)}`;
  return `-H "${`${name}: ${secret.prefix}`.replaceAll(/["\\$`]/g, '\\$&')}$${secret.variable}"`;
}

/** The word as a shell takes it, whatever is in it. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}
