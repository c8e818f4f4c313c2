/** A request with Python and nothing but its standard library. */

import { type Plan, type PlanHeader, httpUrl, readsEvents, withoutSocket } from './snippet.js';
import { quoted } from './quote.js';

export function python(plan: Plan): string {
  const isEvents = readsEvents(plan);
  const hasSecret = plan.headers.some((header) => header.secret);
  const note = withoutSocket(plan, "Python's standard library");
  const headers = [
    ['content-type', quoted('application/json')],
    ...(isEvents ? [['accept', quoted('text/event-stream')]] : []),
    ...plan.headers.map((header) => [header.name, value(header)]),
  ];
  const end = isEvents
    ? `    for line in response:
        if line.startswith(b"data:"):
            print(line[5:].decode().strip())
`
    : `    print(response.status, response.read().decode())
`;
  return `${note}${hasSecret ? 'import os\n' : ''}import urllib.request

body = ${quoted(plan.body)}
request = urllib.request.Request(
    ${quoted(httpUrl(plan))},
    data=body.encode(),
    headers={
${headers.map(([name, text]) => `        ${quoted(name!)}: ${text},`).join('\n')}
    },
)
with urllib.request.urlopen(request) as response:
${end}`;
}

function value({ value, secret }: PlanHeader): string {
  if (!secret) return quoted(value);
  const variable = `os.environ[${quoted(secret.variable)}]`;
  return secret.prefix ? `${quoted(secret.prefix)} + ${variable}` : variable;
}
