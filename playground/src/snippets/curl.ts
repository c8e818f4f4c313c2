/** A request with curl. */

import { type Plan, headerOption, httpUrl, readsEvents, shellWord, withoutSocket } from './snippet.js';

export function curl(plan: Plan): string {
  const isEvents = readsEvents(plan);
  const lines = [`curl ${isEvents ? '-N ' : ''}${shellWord(httpUrl(plan))}`, `-H 'content-type: application/json'`];
  if (isEvents) lines.push(`-H 'accept: text/event-stream'`);
  lines.push(...plan.headers.map(headerOption), `--data-binary ${shellWord(plan.body)}`);
  return `${withoutSocket(plan, 'curl')}${lines.join(' \\\n  ')}\n`;
}
