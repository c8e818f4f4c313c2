/** A request with the `switchboard` command. */

import { type Plan, type PlanCall, headerOption, httpUrl, shellWord } from './snippet.js';

export function command(plan: Plan): string {
  const url = shellWord(plan.transport === 'ws' ? plan.url : httpUrl(plan));
  const options = [...(plan.version === '1.0' ? ['--v1'] : []), ...plan.headers.map(headerOption)];
  const [only, ...others] = plan.calls;
  if (!only) return '# switchboard sends valid requests only. To send this text as it is, use curl or JavaScript.\n';
  if (others.length > 0) return `printf '%s' ${shellWord(plan.body)} |\n  ${joined(['switchboard batch', url, ...options])}\n`;
  const pushes = only.pushes && plan.transport === 'ws';
  const words = [`switchboard ${verb(only, plan, pushes)} ${url} ${shellWord(only.method)}`];
  if (only.params !== '') words.push(shellWord(only.params));
  return `${joined([...words, ...(pushes ? ['--notifications'] : []), ...options])}\n`;
}

function verb({ isNotification, isStream }: PlanCall, { transport }: Plan, pushes: boolean): string {
  if (isNotification) return 'notify';
  return pushes || (isStream && transport !== 'http') ? 'watch' : 'call';
}

/** On one line if it is short. */
function joined(words: readonly string[]): string {
  const line = words.join(' ');
  return line.length <= 90 ? line : words.join(' \\\n  ');
}
