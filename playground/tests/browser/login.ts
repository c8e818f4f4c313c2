import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { faint, nameless } from './access.js';
import { choose, ended, logIn, sees, send, serve, visit, write } from './serving.js';

const run = promisify(execFile);
const TOKEN = '2f9c1b7e55a04d13';
/** A token that a subprotocol cannot contain. */
const BASE64 = '0LnQutC10L0g0LHQvtCx==';

interface Guarded {
  readonly url: string;
  /** The API key of carol. */
  readonly key: string;
}

/** A server that everyone may open, where alice may call everything, carol two methods, and everyone else one. */
async function guard(...options: string[]): Promise<Guarded> {
  const folder = await mkdtemp(join(tmpdir(), 'switchboard-'));
  const secret = { mode: 0o600 };
  const { stdout, stderr } = await run(process.env.SWITCHBOARD!, [
    ...['key', 'new', 'carol', '--role', 'ops', '--scope', 'files:read', '--expires', '90d'],
  ]);
  await writeFile(join(folder, 'tokens.txt'), `alice:${TOKEN}\nbob:${BASE64}\n`, secret);
  await writeFile(join(folder, 'keys.txt'), stdout, secret);
  const config = join(folder, 'switchboard.toml');
  await writeFile(
    config,
    `[auth]
tokens = "tokens.txt"
keys = "keys.txt"
[roles]
admin = "alice"
[access]
rules = [
  { allow = "math/add", who = "anyone" },
  { allow = "echo", who = "authenticated" },
  { allow = "**", who = "role:admin" },
]
`,
  );
  return { url: await serve('--config', config, ...options), key: stderr.trim() };
}

let shared: Promise<Guarded> | undefined;
const guarded = () => (shared ??= guard());

const ALLOWED = { hosts: 'any' as const, complaints: /40[13]|WebSocket connection/ };

/** The names of the methods in the list. */
async function listed(page: Page): Promise<string[]> {
  const rows = page.getByRole('listbox', { name: 'Methods' }).getByRole('option');
  return rows.locator('.list-name > :first-child').allInnerTexts();
}

/** Everything that the page keeps or shows in its address. */
function traces(page: Page): Promise<string> {
  return page.evaluate(() => JSON.stringify([location.href, { ...localStorage }, document.title, history.state]));
}

/** The answers of the facts in the dialog. */
async function facts(page: Page): Promise<Record<string, string>> {
  const rows = await page.getByRole('dialog').locator('.fact').all();
  const texts = await Promise.all(rows.map(async (row) => [await row.locator('dt').innerText(), await row.locator('dd').innerText()]));
  return Object.fromEntries(texts) as Record<string, string>;
}

visit(
  'a token shows who one is and lists what one may call, until one logs out',
  async ({ page }) => {
    const { url } = await guarded();
    await page.goto(url);
    await sees(page, 'math/add');
    assert.deepEqual(await listed(page), ['math/add']);
    await logIn(page, TOKEN);
    await page.getByRole('heading', { name: 'Logged in' }).waitFor();
    // The methods come with the next description.
    await page.getByText(/listed for you/).first().waitFor();
    const shown = await facts(page);
    assert.deepEqual([shown.Subject, shown['Proven by'], shown.Roles], ['alice', 'token', 'admin']);
    assert.deepEqual([shown.Scopes, shown.Expires], ['none', 'does not expire']);
    assert.match(shown.Methods!, /^\d\d listed for you\..*\bgetUser\b/s);
    await page.getByRole('button', { name: 'Done' }).click();
    assert.ok((await listed(page)).length > 20);
    await choose(page, 'getUser');
    for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
      await page.getByLabel(transport, { exact: true }).check();
      await send(page);
      await page.getByRole('region', { name: 'Result as JSON' }).getByText('"name"').waitFor();
    }
    await page.getByRole('button', { name: 'Logged in as alice' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByRole('heading', { name: 'Log in' }).waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    assert.deepEqual(await listed(page), ['math/add']);
    // The connection was alice's, so it is not used any more.
    await send(page);
    await page.getByRole('region', { name: 'Error' }).getByText('-32002').waitFor();
  },
  ALLOWED,
);

visit(
  'an API key shows its roles, scopes and expiry, and works over each transport',
  async ({ page }) => {
    const { url, key } = await guarded();
    await page.goto(url);
    await logIn(page, key, 'API key');
    await page.getByRole('heading', { name: 'Logged in' }).waitFor();
    const shown = await facts(page);
    assert.deepEqual([shown.Subject, shown['Proven by'], shown.Roles, shown.Scopes], ['carol', 'API key', 'ops', 'files:read']);
    assert.match(shown.Expires!, /20\d\d/);
    await page.getByRole('button', { name: 'Done' }).click();
    assert.deepEqual(await listed(page), ['math/add', 'echo'].sort((a, b) => (a > b ? -1 : 1)));
    await choose(page, 'echo');
    await write(page, '["hello"]');
    for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
      await page.getByLabel(transport, { exact: true }).check();
      await send(page);
      await page.getByRole('region', { name: 'Result as JSON' }).getByText('hello').waitFor();
    }
    await page.getByRole('tab', { name: 'Wire' }).click();
    await sees(page, 'jsonrpc, bearer.••••••');
  },
  ALLOWED,
);

visit(
  'wrong credentials are refused and explained, and nothing changes',
  async ({ page }) => {
    // Servers count wrong credentials, so this one is not shared.
    const { url } = await guard();
    await page.goto(url);
    await logIn(page, 'wrong-wrong-wrong');
    await sees(page, 'The server does not accept this token. It may be mistyped, expired or revoked.');
    await page.getByLabel('Your token').fill('two words');
    await page.keyboard.press('Enter');
    await sees(page, 'The token contains a space or a line break. Copy it again.');
    await page.getByLabel('API key', { exact: true }).check();
    await page.getByLabel('Your API key').fill(TOKEN);
    await page.keyboard.press('Enter');
    await sees(page, 'If it is a token, choose “Token” above.');
    await page.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('banner').getByRole('button', { name: 'Log in', exact: true }).waitFor();
    assert.deepEqual(await listed(page), ['math/add']);
  },
  ALLOWED,
);

visit(
  'a call that is refused offers to log in, over each transport',
  async ({ page }) => {
    const { url, key } = await guarded();
    await page.goto(url);
    await page.getByLabel('Method', { exact: true }).fill('getUser');
    await write(page, '[1]');
    const card = page.getByRole('region', { name: 'Error' });
    for (const transport of ['HTTP', 'WebSocket']) {
      await page.getByLabel(transport, { exact: true }).check();
      await send(page);
      await card.getByRole('button', { name: 'Log in' }).waitFor();
    }
    await card.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('dialog').waitFor();
    await logIn(page, key, 'API key');
    await page.getByRole('button', { name: 'Done' }).click();
    await send(page);
    await card.getByText('You are logged in as carol.').waitFor();
    await card.getByRole('button', { name: 'Show what you may call' }).click();
    await page.getByRole('list', { name: 'Methods listed for you' }).getByText('echo').waitFor();
  },
  ALLOWED,
);

visit(
  'a secret is in no link, address, storage, history or code',
  async ({ page }) => {
    const { url, key } = await guarded();
    await page.goto(url);
    for (const [secret, kind] of [
      [TOKEN, 'Token'],
      [key, 'API key'],
    ] as const) {
      await logIn(page, secret, kind);
      await page.getByRole('button', { name: 'Done' }).click();
      await choose(page, 'echo');
      await write(page, '["hello"]');
      for (const transport of ['HTTP', 'WebSocket']) {
        await page.getByLabel(transport, { exact: true }).check();
        await send(page);
        await page.getByRole('tab', { name: 'Code' }).click();
        for (const language of ['switchboard', 'curl', 'Python', 'JavaScript', 'Rust']) {
          await page.getByLabel(language, { exact: true }).check();
          const code = await page.getByRole('region', { name: 'Code' }).locator('code').innerText();
          assert.ok(!code.includes(secret) && /TOKEN|X_API_KEY/.test(code), code);
        }
        await page.getByRole('tab', { name: 'Wire' }).click();
        assert.ok(!(await page.locator('body').innerText()).includes(secret));
        await page.getByRole('tab', { name: 'Result' }).click();
      }
      await page.getByRole('button', { name: 'Copy link' }).click();
      await sees(page, 'Link copied');
      const link = await page.evaluate(() => navigator.clipboard.readText());
      const held = Buffer.from(link.split('#call=')[1]!, 'base64url').toString();
      assert.ok(!link.includes(secret) && !held.includes(secret), held);
      assert.ok(!(await traces(page)).includes(secret));
      assert.equal(await page.evaluate(() => JSON.stringify({ ...sessionStorage })), '{}');
      await page.getByRole('button', { name: /^Logged in as/ }).click();
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByRole('button', { name: 'Close' }).click();
    }
    // Logging in by a call is not remembered either.
    await page.getByLabel('Method', { exact: true }).fill('rpc.login');
    await write(page, `{"token": "${TOKEN}"}`);
    await send(page);
    assert.ok(!(await traces(page)).includes(TOKEN));
  },
  ALLOWED,
);

visit(
  'a login is forgotten with the page, or kept until the tab is closed',
  async ({ page }) => {
    const { url } = await guarded();
    await page.goto(url);
    await logIn(page, TOKEN);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    await page.getByRole('banner').getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByLabel('Keep until this tab is closed').check();
    await logIn(page, TOKEN);
    await page.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Logged in as alice' }).waitFor();
    assert.ok(!(await traces(page)).includes(TOKEN));
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByRole('banner').getByRole('button', { name: 'Log in', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Logged in as alice' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
    assert.ok(!(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes(TOKEN));
  },
  ALLOWED,
);

visit(
  'a token that a WebSocket cannot carry works over HTTP, and the page says why',
  async ({ page }) => {
    await page.goto((await guarded()).url);
    await logIn(page, BASE64);
    await page.getByRole('button', { name: 'Done' }).click();
    await choose(page, 'echo');
    await write(page, '["hello"]');
    await send(page);
    await page.getByRole('region', { name: 'Result as JSON' }).getByText('hello').waitFor();
    await page.getByLabel('WebSocket', { exact: true }).check();
    await send(page);
    await sees(page, 'Browsers send it as a subprotocol, which cannot contain “=”.');
  },
  ALLOWED,
);

/** A page that its browser opened with a password, and other credentials that are entered in it. */
visit(
  'credentials that are entered take the place of those of the browser',
  async ({ page }) => {
    const folder = await mkdtemp(join(tmpdir(), 'switchboard-'));
    const { stdout, stderr } = await run(process.env.SWITCHBOARD!, ['key', 'new', 'carol']);
    const other = '77aa0c9d1e2f3b45';
    await writeFile(join(folder, 'tokens.txt'), `alice:${TOKEN}\nbob:${other}\n`, { mode: 0o600 });
    await writeFile(join(folder, 'keys.txt'), stdout, { mode: 0o600 });
    await page.goto(await serve('--tokens', join(folder, 'tokens.txt'), '--keys', join(folder, 'keys.txt')));
    await page.getByRole('button', { name: 'Logged in as alice' }).click();
    await sees(page, 'Your browser sends these credentials by itself');
    for (const [secret, kind, name] of [
      [other, 'Token', 'bob'],
      [stderr.trim(), 'API key', 'carol'],
    ] as const) {
      await logIn(page, secret, kind);
      await page.getByRole('button', { name: 'Done' }).click();
      await page.getByRole('button', { name: `Logged in as ${name}` }).waitFor();
      await page.getByLabel('Method', { exact: true }).fill('rpc.whoami');
      for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
        await page.getByLabel(transport, { exact: true }).check();
        await send(page);
        await page.getByRole('region', { name: 'Result as JSON' }).getByText(`"${name}"`).waitFor();
      }
      await page.getByRole('button', { name: `Logged in as ${name}` }).click();
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByRole('button', { name: 'Close' }).click();
      await page.getByRole('button', { name: 'Logged in as alice' }).waitFor();
    }
    // Without a login, a WebSocket has the credentials of the browser again.
    await send(page);
    await page.getByRole('region', { name: 'Result as JSON' }).getByText('"alice"').waitFor();
  },
  { ...ALLOWED, httpCredentials: { username: 'alice', password: TOKEN } },
);

visit(
  'another server takes an API key from this page',
  async ({ page, url }) => {
    const { url: other, key } = await guard('--allow-origin', new URL(url).origin, '--cors');
    await page.getByLabel('Endpoint').fill(other);
    await page.keyboard.press('Enter');
    await logIn(page, key, 'API key');
    await page.getByRole('button', { name: 'Done' }).click();
    await choose(page, 'echo');
    await send(page);
    await ended(page);
    // The login is for that server alone.
    await page.getByLabel('Endpoint').fill('');
    await page.keyboard.press('Enter');
    await page.getByRole('banner').getByRole('button', { name: 'Log in', exact: true }).waitFor();
  },
  ALLOWED,
);

for (const [width, colorScheme] of [
  [390, 'light'],
  [390, 'dark'],
  [768, 'light'],
  [768, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const) {
  visit(
    `logging in fits ${width} pixels, can be read and is named (${colorScheme})`,
    async ({ page }) => {
      const { url, key } = await guarded();
      await page.goto(url);
      await sees(page, 'math/add');
      const check = async (what: string) => {
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, what);
        const dialog = page.getByRole('dialog');
        const box = (await dialog.isVisible()) ? await dialog.boundingBox() : undefined;
        assert.ok(!box || (box.x >= 0 && box.x + box.width <= width), what);
        assert.deepEqual(await faint(page), [], what);
        assert.deepEqual(await nameless(page), [], what);
      };
      await check('before');
      await logIn(page, 'wrong-wrong-wrong');
      await sees(page, 'The server does not accept this token.');
      await check('refused');
      await logIn(page, key, 'API key');
      await page.getByRole('heading', { name: 'Logged in' }).waitFor();
      await check('known');
      await page.getByRole('button', { name: 'Done' }).click();
      await choose(page, 'echo');
      await page.getByLabel('Method', { exact: true }).fill('getUser');
      await send(page);
      await page.getByText('You are logged in as carol.').waitFor();
      await check('denied');
    },
    { ...ALLOWED, colorScheme, viewport: { width, height: width === 390 ? 844 : 900 } },
  );
}
