/** Where calls go, over each transport. */

export type Transport = 'http' | 'sse' | 'ws';

export const TRANSPORTS: readonly { readonly value: Transport; readonly label: string; readonly hint: string }[] = [
  { value: 'http', label: 'HTTP', hint: 'One POST request, one answer' },
  { value: 'sse', label: 'SSE', hint: 'A POST request answered with server-sent events' },
  { value: 'ws', label: 'WebSocket', hint: 'One connection on which both sides can send' },
];

/** The URL that a person typed, or why it cannot be used. */
export function readEndpoint(typed: string, page: string): { readonly url: URL } | { readonly problem: string } {
  const text = typed.trim();
  const hasScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(text);
  let url: URL;
  try {
    url = hasScheme ? new URL(text) : text.startsWith('/') ? new URL(text, page) : new URL(`http://${text}`);
  } catch {
    return { problem: notUrl(text) };
  }
  // Without a scheme almost any word would pass for a host.
  const isAddress =
    hasScheme || text.startsWith('/') || /^(localhost|[\w-]+(\.[\w-]+)+|\[[\da-f:.]+\]|[\w-]+(?=:\d))(:\d+)?([/?#]|$)/i.test(text);
  if (!isAddress) return { problem: notUrl(text) };
  if (!['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol)) {
    return { problem: `A page cannot call ${url.protocol}//. Use http, https, ws or wss.` };
  }
  if (url.username || url.password) return { problem: 'Remove the user name and password from the URL, and log in instead.' };
  url.hash = '';
  return { url };
}

function notUrl(text: string): string {
  const port = /^:?(\d{1,5})$/.exec(text)?.[1];
  return `“${text}” is not a URL. Use one such as http://127.0.0.1:${port ?? 8000}/`;
}

/** The URL for a transport: http and ws name the same port. */
export function urlFor(endpoint: string, transport: Transport): string {
  const isSecure = /^(https|wss):/i.test(endpoint);
  const rest = endpoint.replace(/^[a-z]+:/i, '');
  const scheme = transport === 'ws' ? (isSecure ? 'wss:' : 'ws:') : isSecure ? 'https:' : 'http:';
  return scheme + rest;
}
