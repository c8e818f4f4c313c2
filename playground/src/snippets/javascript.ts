/** A call with JavaScript: in Node 18 or later, in Deno, in Bun, or in a page. */

import type { Plan, PlanHeader } from './snippet.js';
import { quoted } from './quote.js';

export function javascript(plan: Plan): string {
  return plan.transport === 'ws' ? socket(plan) : fetched(plan);
}

function fetched(plan: Plan): string {
  const isEvents = plan.transport === 'sse';
  const headers = [
    ['content-type', quoted('application/json')],
    ...(isEvents ? [['accept', quoted('text/event-stream')]] : []),
    ...plan.headers.map((header) => [header.name, value(header)]),
  ];
  const end = isEvents
    ? `const decoder = new TextDecoder();
for await (const piece of response.body) {
  process.stdout.write(decoder.decode(piece, { stream: true }));
}
`
    : `console.log(response.status, await response.text());
`;
  return `const response = await fetch(${quoted(plan.url)}, {
  method: 'POST',
  headers: {
${headers.map(([name, text]) => `    ${quoted(name!)}: ${text},`).join('\n')}
  },
  body: ${quoted(plan.body)},
});
${end}`;
}

function socket(plan: Plan): string {
  const isLast = plan.calls.every((call) => call.isNotification) ? 'socket.close();' : '';
  const end = plan.calls.some((call) => call.isStream)
    ? `  if (JSON.parse(data).method === 'rpc.end') socket.close();`
    : `  socket.close();`;
  return `// In a page, or in Node 22 or later.
const socket = new WebSocket(${quoted(plan.url)});
socket.onopen = () => {
  socket.send(${quoted(plan.body)});${isLast ? `\n  ${isLast}` : ''}
};
socket.onmessage = ({ data }) => {
  console.log(data);
${end}
};
`;
}

function value({ value, secret }: PlanHeader): string {
  if (!secret) return quoted(value);
  return secret.prefix ? `${quoted(secret.prefix)} + process.env.${secret.variable}` : `process.env.${secret.variable}`;
}
