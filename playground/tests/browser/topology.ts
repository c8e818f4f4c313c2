import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { faint, nameless } from './access.js';
import { type Running, start, startGateway, visit } from './serving.js';

interface Watched {
  readonly page: Page;
  readonly gateway: Running;
  /** The URL of a server that is there, and of one that is not. */
  readonly up: string;
  readonly gone: string;
}

type Wishes = Omit<NonNullable<Parameters<typeof visit>[2]>, 'from'>;

/** A test with the live page of a gateway before one server that answers, and one that does not exist. */
function watch(name: string, run: (watched: Watched) => Promise<void>, wishes: Wishes = {}): void {
  let watched: Omit<Watched, 'page'>;
  const from = async () => {
    const [server, gone] = [await start(), `http://127.0.0.1:${await freePort()}`];
    const up = server.url.slice(0, -1);
    const gateway = await startGateway(`math=${up}`, `gone=${gone}`, '--admin', '0');
    watched = { gateway, up, gone };
    return gateway.admin;
  };
  visit(name, ({ page }) => run({ page, ...watched }), { ...wishes, from });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/** Calls both upstreams until the work is done. */
async function during(gateway: Running, work: () => Promise<void>): Promise<void> {
  let isDone = false;
  const headers = { 'content-type': 'application/json' };
  const call = async (method: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [1, 2] });
    await (await fetch(gateway.url, { method: 'POST', headers, body })).text();
  };
  const traffic = (async () => {
    while (!isDone) for (const method of ['math/math/add', 'gone/math/add']) await call(method);
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await traffic;
  }
}

const box = (page: Page, kind: string, text: string) => page.locator(`.${kind}`, { hasText: text });

watch('a gateway is drawn with its clients, upstreams and servers', async ({ page, gateway, up, gone }) => {
  await page.getByRole('region', { name: 'Topology' }).waitFor();
  await during(gateway, async () => {
    await box(page, 'client', 'http').getByText(/[1-9].*\/s/).waitFor();
    await box(page, 'upstream', 'math').getByText('up', { exact: true }).waitFor();
    await box(page, 'node', up).getByText(/^[1-9].*\/s/).waitFor();
    await box(page, 'node.is-fair', gone).getByText(/calls? failed/).waitFor();
    await box(page, 'upstream', 'gone').getByText('down', { exact: true }).waitFor();
    await box(page, 'upstream', 'gone').getByText('breaker open').waitFor();
    // Calls flow to the server that answers.
    await page.locator('.group', { hasText: up }).locator('.is-good .flow').waitFor({ state: 'attached' });
  });
  // Rates are averages, so it takes some seconds until nothing flows.
  await page.locator('.flow').first().waitFor({ state: 'detached', timeout: 20_000 });
});

for (const colorScheme of ['light', 'dark'] as const) {
  watch(
    `everything in the picture can be read, in ${colorScheme} colours`,
    async ({ page, gateway }) => {
      await during(gateway, async () => {
        await box(page, 'upstream', 'gone').getByText('breaker open').waitFor();
        await box(page, 'client', 'http').waitFor();
        assert.deepEqual(await nameless(page), []);
        assert.deepEqual(await faint(page), []);
      });
    },
    { colorScheme },
  );
}

watch(
  'on a phone nothing of the picture is cut off',
  async ({ page, gateway }) => {
    await during(gateway, async () => {
      await box(page, 'upstream', 'math').waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
      const isWhole = await page.locator('.upstream b').evaluateAll((names) => names.every((name) => name.scrollWidth <= name.clientWidth));
      assert.ok(isWhole, 'names of upstreams are cut');
    });
  },
  { viewport: { width: 400, height: 850 }, isMobile: true, hasTouch: true },
);
