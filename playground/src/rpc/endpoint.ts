/** Where calls go, over each transport. */

export type Transport = 'http' | 'sse' | 'ws';

export const TRANSPORTS: readonly { readonly value: Transport; readonly label: string; readonly hint: string }[] = [
  { value: 'http', label: 'HTTP', hint: 'One POST, one answer' },
  { value: 'sse', label: 'SSE', hint: 'A POST answered by an event stream, item by item' },
  { value: 'ws', label: 'WebSocket', hint: 'A connection both sides may send on' },
];

/** The URL that a person typed, or why it cannot be used. */
export function readEndpoint(typed: string, page: string): { readonly url: URL } | { readonly problem: string } {
  const text = typed.trim();
  let url: URL;
  try {
    url = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? new URL(text) : text.startsWith('/') ? new URL(text, page) : new URL(`http://${text}`);
  } catch {
    return { problem: 'Write a URL such as http://127.0.0.1:8000/' };
  }
  if (!['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol)) {
    return { problem: `A page can call http, https, ws and wss, not ${url.protocol.slice(0, -1)}` };
  }
  if (url.username || url.password) return { problem: 'Set a token instead of a name and a password in the URL' };
  url.hash = '';
  return { url };
}

/** The URL for a transport: http and ws name the same port. */
export function urlFor(endpoint: string, transport: Transport): string {
  const isSecure = /^(https|wss):/i.test(endpoint);
  const rest = endpoint.replace(/^[a-z]+:/i, '');
  const scheme = transport === 'ws' ? (isSecure ? 'wss:' : 'ws:') : isSecure ? 'https:' : 'http:';
  return scheme + rest;
}
