import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { choose, ended, sees, serve, shared, visit } from './serving.js';

/** A server that does not let this page read, and one that does. */
let foreign: Promise<string> | undefined;
let open: Promise<string> | undefined;

async function goTo(page: Page, url: string): Promise<void> {
  await page.getByLabel('Endpoint').fill(url);
  await page.keyboard.press('Enter');
}

visit(
  'another endpoint that allows it is called like its own',
  async ({ page }) => {
    await goTo(page, await (open ??= serve('--allow-origin', new URL(await shared()).origin, '--cors')));
    await choose(page, 'math/add');
    await page.getByLabel('a number').fill('2');
    await page.getByLabel('b number').fill('3');
    for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
      await page.getByLabel(transport, { exact: true }).check();
      await page.getByRole('button', { name: 'Send' }).click();
      await ended(page);
      assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '5', transport);
    }
  },
  { hosts: 'any' },
);

visit(
  'another endpoint that does not is explained, with what to do',
  async ({ page, url }) => {
    await goTo(page, await (foreign ??= serve()));
    await sees(page, /does not let this page (call|read)/);
    await sees(page, `If it is Switchboard: switchboard serve --allow-origin ${new URL(url).origin} --cors`);
    await page.getByLabel('Method', { exact: true }).fill('math/add');
    await page.getByRole('button', { name: 'Send' }).click();
    await page
      .getByRole('alert')
      .getByText(/does not let this page (call|read)/)
      .waitFor();
  },
  { hosts: 'any', complaints: /CORS|Failed to load resource/ },
);

/** A port on which nobody listens: one that was free a moment ago. */
function closed(): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(`127.0.0.1:${typeof address === 'object' ? address?.port : 0}`));
    });
  });
}

visit(
  'a server that is not there is told with what to look at',
  async ({ page }) => {
    await goTo(page, await closed());
    await sees(page, /The server cannot be reached/);
    await page.getByLabel('WebSocket', { exact: true }).check();
    await page.getByLabel('Method', { exact: true }).fill('math/add');
    await page.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'The WebSocket did not open');
  },
  { hosts: 'any', complaints: /ERR_CONNECTION_REFUSED|Failed to load/ },
);

visit('what is no endpoint is refused with a reason', async ({ page, url }) => {
  await goTo(page, 'tcp://127.0.0.1:4000');
  await sees(page, 'A page can call http, https, ws and wss, not tcp');
  await goTo(page, '');
  assert.equal(await page.getByLabel('Endpoint').inputValue(), url);
});
