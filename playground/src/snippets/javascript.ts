/** A request with JavaScript: in Node 18 or later, in Deno, in Bun, or in a page. */

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
  const isSilent = plan.calls.length > 0 && plan.calls.every((call) => call.isNotification);
  const login = plan.headers.find(isLogin);
  const protocols = login ? `, ['jsonrpc', 'bearer.' + process.env.${login.secret!.variable}]` : '';
  return `// In a page, or in Node 22 or later.
const socket = new WebSocket(${quoted(plan.url)}${protocols});
socket.onopen = () => {
  socket.send(${quoted(plan.body)});${isSilent ? '\n  socket.close();' : ''}
};
socket.onmessage = ({ data }) => {
  console.log(data);
${reading(plan)}
};
`;
}

/** Whether a header carries a login. A WebSocket takes it as a subprotocol: browsers do not let it have headers. */
function isLogin({ name, secret }: PlanHeader): boolean {
  if (!secret) return false;
  return secret.prefix.toLowerCase() === 'bearer ' || name.toLowerCase() === 'x-api-key';
}

/** When the socket is closed. */
function reading({ calls }: Plan): string {
  const [only, ...others] = calls;
  if (!only) return '  socket.close();';
  if (calls.some((call) => call.pushes)) return '  // The connection stays open for what the server pushes. socket.close() ends it.';
  if (others.length > 0) return '  // The responses arrive as one array.\n  if (Array.isArray(JSON.parse(data))) socket.close();';
  const message = '  const message = JSON.parse(data);\n';
  if (only.isStream) {
    return `${message}  // Items until the stream ends, or an error instead of a stream.\n  if (message.method === 'rpc.end' || message.error) socket.close();`;
  }
  return `${message}  // The response. Remove this line to keep receiving what the server pushes.\n  if (message.id === 1) socket.close();`;
}

function value({ value, secret }: PlanHeader): string {
  if (!secret) return quoted(value);
  return secret.prefix ? `${quoted(secret.prefix)} + process.env.${secret.variable}` : `process.env.${secret.variable}`;
}
