import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { choose, ended, logIn, sees, serve, shared, visit } from './serving.js';

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
    await sees(page, /does not allow this page to (call|read)/);
    await sees(page, `If it is a Switchboard server, start it with: switchboard serve --allow-origin ${new URL(url).origin} --cors`);
    await page.getByLabel('Method', { exact: true }).fill('math/add');
    await page.getByRole('button', { name: 'Send' }).click();
    await page
      .getByRole('alert')
      .getByText(/does not allow this page to (call|read)/)
      .waitFor();
  },
  { hosts: 'any', complaints: /CORS|Failed to load resource/ },
);

visit(
  'a server that does not allow this page is called through the one that offers to forward',
  async ({ page }) => {
    const other = await (foreign ??= serve());
    await page.goto(await serve('--proxy-for', other));
    await goTo(page, other);
    await page.getByRole('button', { name: 'Forward calls' }).click();
    await sees(page, /Calls are forwarded by 127\.0\.0\.1:/);
    await choose(page, 'math/add');
    await page.getByLabel('a number').fill('2');
    await page.getByLabel('b number').fill('3');
    await page.getByRole('button', { name: 'Send' }).click();
    await ended(page);
    assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '5');
    await page.getByLabel('SSE', { exact: true }).check();
    await choose(page, 'count');
    await page.getByLabel('to integer').fill('3');
    await page.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'The stream has ended');
    await page.getByRole('button', { name: 'Call directly' }).click();
    await sees(page, /does not allow this page to (call|read)/);
  },
  { hosts: 'any', complaints: /CORS|Failed to load resource/ },
);

/** A port on which no server listens: one that was free a moment ago. */
function closed(): Promise<string> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(`127.0.0.1:${typeof address === 'object' ? address?.port : 0}`));
    });
  });
}

visit(
  'a server that cannot be reached is reported, with what to check',
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

visit('an endpoint that cannot be used is refused with a reason', async ({ page, url }) => {
  await goTo(page, 'tcp://127.0.0.1:4000');
  await sees(page, 'A page cannot call tcp://. Use http, https, ws or wss.');
  await goTo(page, '');
  assert.equal(await page.getByLabel('Endpoint').inputValue(), url);
});

visit('nothing is sent while the endpoint is not a URL', async ({ page, url }) => {
  await choose(page, 'math/add');
  await goTo(page, 'hello');
  await sees(page, '“hello” is not a URL. Use one such as http://127.0.0.1:8000/');
  assert.equal(await page.getByLabel('Endpoint').inputValue(), 'hello');
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
  await page.keyboard.press('Control+Enter');
  await sees(page, 'No request sent yet');
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
  await page.keyboard.press('Control+Enter');
  await sees(page, 'No request sent yet');
  await page.getByRole('tab', { name: 'Lessons' }).click();
  await page.getByRole('option', { name: 'Calls and params' }).click();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled());
  await page.keyboard.press('Control+Enter');
  await sees(page, 'No request sent yet');
  await goTo(page, url);
  await page.getByRole('button', { name: 'Send' }).click();
  await ended(page);
});

visit(
  'a path at which nothing is served is reported as such over each transport',
  async ({ page, url }) => {
    await goTo(page, '/nope');
    const said = `${new URL(url).host} serves nothing at /nope`;
    assert.equal(await page.locator('#endpoint-problem').getByText(said).innerText(), said);
    await page.getByLabel('Method', { exact: true }).fill('math/add');
    await page.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'The server serves nothing at this path. Check the path of the endpoint.');
    await page.getByLabel('WebSocket', { exact: true }).check();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert', { name: 'Failure' }).getByText(said).waitFor();
  },
  { complaints: /404|WebSocket connection/ },
);

visit(
  'a path at which a server that allows the page serves nothing is not taken for CORS',
  async ({ page }) => {
    const elsewhere = await (open ??= serve('--allow-origin', new URL(await shared()).origin, '--cors'));
    await goTo(page, `${elsewhere}nope`);
    await page
      .locator('#endpoint-problem')
      .getByText(`${new URL(elsewhere).host} serves nothing at /nope`)
      .waitFor();
  },
  { hosts: 'any', complaints: /CORS|Failed to load/ },
);

const TOKEN = '2f9c1b7e55a04d13';

/** A file with the token of alice. */
async function tokens(): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'switchboard-')), 'tokens.txt');
  await writeFile(path, `alice:${TOKEN}\n`, { mode: 0o600 });
  return path;
}

visit(
  'a server that requires a token says so over each transport, and is called with one',
  async ({ page }) => {
    const origin = new URL(await shared()).origin;
    await goTo(page, await serve('--tokens', await tokens(), '--allow-origin', origin, '--cors'));
    await sees(page, 'This server requires credentials');
    await page.getByLabel('Method', { exact: true }).fill('math/add');
    await page.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'The server requires valid credentials. Log in with a token or an API key.');
    await page.getByLabel('WebSocket', { exact: true }).check();
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('alert', { name: 'Failure' }).getByText('The server requires credentials').waitFor();
    await page.getByLabel('HTTP', { exact: true }).check();
    await page.getByRole('navigation', { name: 'Choose a request' }).getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('dialog').waitFor();
    await logIn(page, TOKEN);
    await page.getByRole('button', { name: 'Done' }).click();
    await choose(page, 'math/add');
    for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
      await page.getByLabel(transport, { exact: true }).check();
      await page.getByRole('button', { name: 'Send' }).click();
      await ended(page);
      assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '5', transport);
    }
  },
  { hosts: 'any', complaints: /401|WebSocket connection/ },
);

visit(
  'a reader who logs in to open the page calls its server with the same credentials',
  async ({ page }) => {
    await page.goto(await serve('--tokens', await tokens()));
    for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
      await page.getByLabel(transport, { exact: true }).check();
      await choose(page, 'math/add');
      await page.getByRole('button', { name: 'Send' }).click();
      await ended(page);
      assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '5', transport);
    }
  },
  { hosts: 'any', complaints: /401/, httpCredentials: { username: 'alice', password: TOKEN } },
);
