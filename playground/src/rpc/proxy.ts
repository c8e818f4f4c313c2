/** Calls through the server that this page came from, for servers that do not allow the page (CORS). */

import type { Post } from './post.js';

const PATH = '/proxy';

/** The URLs that the server of this page forwards to: none, unless it was started with `--proxy-for`. */
export async function proxyTargets(origin: string): Promise<readonly string[]> {
  try {
    const response = await fetch(origin + PATH, { credentials: 'same-origin', cache: 'no-store', redirect: 'error' });
    if (!response.ok) return [];
    const { targets } = (await response.json()) as { targets?: unknown };
    return Array.isArray(targets) ? targets.map((target) => new URL(String(target)).href) : [];
  } catch {
    return [];
  }
}

/** The same request, sent to the proxy, which sends on the headers that are named and no others. */
export function throughProxy({ url, headers, body }: Post, origin: string): Post {
  const directions = [
    { name: 'Switchboard-Target', value: url },
    { name: 'Switchboard-Pass', value: headers.map(({ name }) => name).join(', ') },
  ];
  return { url: origin + PATH, headers: [...headers, ...directions], body };
}
