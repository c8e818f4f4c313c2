import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { gunzipSync } from 'node:zlib';
import { faint, nameless } from './access.js';
import { fetched } from './page.js';
import { type Running, sees, start, visit } from './serving.js';

const TOKEN = '7d0c3be19f5e42a8';

interface Watched {
  readonly page: Page;
  readonly server: Running;
}

type Wishes = Omit<NonNullable<Parameters<typeof visit>[2]>, 'from'>;

/** A test with the live page of a server that no other test calls. */
function watch(name: string, run: (watched: Watched) => Promise<void>, wishes: Wishes = {}): void {
  let server: Running;
  const from = async () => (server = await start('--admin', '0')).admin;
  visit(name, ({ page }) => run({ page, server }), { ...wishes, from });
}

/** Sends a message, and gives the response as text. */
async function post({ url }: Running, message: unknown): Promise<string> {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text();
}

function request(method: string, params: unknown = [], id = 1) {
  return { jsonrpc: '2.0', method, params, id };
}

/** Sends the same messages until the work is done. */
async function during(server: Running, messages: readonly unknown[], work: () => Promise<void>): Promise<void> {
  let isDone = false;
  const traffic = (async () => {
    while (!isDone) for (const message of messages) await post(server, message);
  })();
  try {
    await work();
  } finally {
    isDone = true;
    await traffic;
  }
}

const panel = (page: Page, name: string): Locator => page.getByRole('region', { name, exact: true });
const calls = (page: Page): Locator => panel(page, 'Calls').locator('tbody tr');
const live = (page: Page): Promise<void> => page.getByRole('status').getByText('Live', { exact: true }).waitFor();

test('the live page is under 60 KB, has all it needs, and calls its own server only', async () => {
  const server = await start('--admin', '0');
  const { status, headers, body } = await fetched(server.admin, 'text/html');
  assert.equal(status, 200);
  assert.ok(body.length < 60_000, `${body.length} bytes`);
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'sha256-[^']+'; .* connect-src 'self';/);
  const html = gunzipSync(body).toString();
  assert.doesNotMatch(html, /<(?:script|img|iframe)[^>]+src=|<link[^>]+href="(?!data:)|@import|url\((?!["']?data:)/);
  assert.equal((await fetched(server.admin, 'application/json')).status, 405);
  await server.stop();
});

watch('numbers, methods, transports and sessions are shown as calls happen', async ({ page, server }) => {
  await live(page);
  await during(server, [request('math/add', [1, 2]), request('wait', { seconds: 0.001 })], async () => {
    const row = panel(page, 'Busiest').getByRole('row', { name: /math\/add/ });
    await row.filter({ hasText: /\d (µs|ms)/ }).waitFor();
    await page.locator('.tile').first().getByText(/^[1-9]/).waitFor();
    await panel(page, 'Sessions').getByRole('row', { name: /127\.0\.0\.1:\d+ http/ }).first().waitFor();
    await page.getByRole('slider', { name: 'Latency: time' }).and(page.locator('[aria-valuetext*="p99"]')).waitFor();
    await page.getByLabel('Transports').check();
    await panel(page, 'Busiest').getByRole('row', { name: /^http/ }).waitFor();
    await page.getByLabel('Callers').check();
    await panel(page, 'Busiest').getByRole('row', { name: /^anonymous/ }).waitFor();
  });
});

watch('rows are sorted by the column that is chosen', async ({ page, server }) => {
  await during(server, [request('math/add', [1, 2]), request('math/add', [1, 2]), request('sum', [1])], async () => {
    const names = panel(page, 'Busiest').locator('tbody th');
    await names.nth(1).waitFor();
    await page.getByRole('button', { name: 'Method', exact: true }).click();
    assert.deepEqual(await names.allInnerTexts(), ['math/add', 'sum']);
    await page.getByRole('button', { name: 'Method', exact: true }).click();
    assert.deepEqual(await names.allInnerTexts(), ['sum', 'math/add']);
    const head = page.getByRole('columnheader', { name: 'Method' }).first();
    assert.equal(await head.getAttribute('aria-sort'), 'descending');
  });
});

watch('the time in a chart is chosen with the keyboard', async ({ page, server }) => {
  await during(server, [request('math/add', [1, 2])], async () => {
    const chart = page.getByRole('slider', { name: 'Calls per second: time' });
    await chart.and(page.locator('[aria-valuetext*="calls"]')).waitFor();
    await chart.focus();
    await page.keyboard.press('Home');
    // All charts show the same time.
    await page.locator('.legend-time').nth(2).waitFor();
    assert.equal(await page.locator('.cursor').count(), 3);
    await page.keyboard.press('Escape');
    await page.locator('.legend-time').first().waitFor({ state: 'detached' });
  });
});

watch('a failing call is listed and explained, and opens with the bars of its batch', async ({ page, server }) => {
  await live(page);
  await post(server, [request('sum', [1, 2], 1), request('wait', { seconds: 0.01 }, 2), request('nope', [], 3)]);
  await page.getByLabel('Failed', { exact: true }).check();
  await calls(page).getByText('error -32601').waitFor();
  assert.equal(await calls(page).count(), 1);
  await panel(page, 'Errors and refusals').getByText('The server has no method with this name.').waitFor();
  await calls(page).first().click();
  const dialog = page.getByRole('dialog', { name: 'nope' });
  await dialog.locator('.bar').nth(2).waitFor();
  assert.deepEqual(await dialog.locator('.bar-label').allInnerTexts(), ['0 sum', '1 wait', '2 nope']);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  // The page is drawn without the dialog before anyone can press a key again.
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  await page.locator('#calls .name').first().press('Enter');
  await dialog.waitFor();
});

watch('a call opens with the bars of its calls back', async ({ page, server }) => {
  await live(page);
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
  const body = JSON.stringify(request('watch', { seconds: 0.1 }));
  assert.match(await (await fetch(server.url, { method: 'POST', headers, body })).text(), /onTick/);
  await calls(page).getByText('watch', { exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'watch' });
  await dialog.locator('.bar.callback').waitFor();
  assert.deepEqual(await dialog.locator('.bar-label').allInnerTexts(), ['watch', '← onTick']);
  await dialog.getByText('call 1: onTick sent').waitFor();
});

watch('calls are filtered by method, outcome and duration', async ({ page, server }) => {
  const field = (name: string) => page.getByRole('search').getByLabel(name, { exact: true });
  const names = async (count: number) => {
    await page.waitForFunction((many) => document.querySelectorAll('#calls tbody tr').length === many, count);
    return (await page.locator('#calls .name').allInnerTexts()).sort();
  };
  await live(page);
  for (const message of [request('math/add', [1, 2]), request('math/add', ['x']), request('wait', { seconds: 0.2 })]) {
    await post(server, message);
  }
  assert.deepEqual(await names(3), ['math/add', 'math/add', 'wait']);
  await field('Method').fill('math/*');
  assert.deepEqual(await names(2), ['math/add', 'math/add']);
  await field('Outcome').selectOption('OK');
  assert.deepEqual(await names(1), ['math/add']);
  await page.getByRole('button', { name: 'Clear' }).click();
  await field('Slower than').fill('100ms');
  assert.deepEqual(await names(1), ['wait']);
  await field('Slower than').fill('soon');
  await sees(page, 'Use a duration such as 100ms or 2s');
  await page.getByRole('button', { name: 'Clear' }).click();
  await names(3);
  await field('Caller').fill('ada');
  await sees(page, 'No calls match this filter yet.');
});

watch('a method in the table lists its calls', async ({ page, server }) => {
  await during(server, [request('math/add', [1, 2]), request('sum', [1])], async () => {
    await panel(page, 'Busiest').getByRole('button', { name: 'sum' }).click();
    assert.equal(await page.getByRole('search').getByLabel('Method').inputValue(), 'sum');
    await calls(page).first().waitFor();
    assert.deepEqual([...new Set(await page.locator('#calls .name').allInnerTexts())], ['sum']);
  });
});

watch('a paused list stays as it is, and catches up', async ({ page, server }) => {
  await live(page);
  await post(server, request('math/add', [1, 2]));
  await calls(page).getByText('math/add').waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await post(server, request('sum', [1]));
  // The numbers go on.
  await panel(page, 'Busiest').getByRole('row', { name: /sum/ }).waitFor();
  assert.deepEqual(await page.locator('#calls .name').allInnerTexts(), ['math/add']);
  await page.getByRole('button', { name: 'Resume' }).click();
  await calls(page).getByText('sum', { exact: true }).waitFor();
  assert.equal(await calls(page).count(), 2);
});

watch('names that callers chose are text', async ({ page, server }) => {
  const name = '<img src=x onerror="document.title=1"><b>bold</b>';
  await live(page);
  await post(server, request(name));
  await calls(page).getByText(name).click();
  await page.getByRole('dialog').getByText(name).first().waitFor();
  assert.equal(await page.locator('img, #calls b, dialog b').count(), 0);
  assert.equal(await page.title(), 'Switchboard live');
});

watch('a flood of calls is shown as a sample', async ({ page, server }) => {
  await live(page);
  const batch = Array.from({ length: 50 }, (_, at) => request('math/add', [1, at], at));
  await during(server, [batch], async () => {
    await sees(page, 'Many calls: a sample of each second');
    await calls(page).nth(20).waitFor();
    assert.ok((await calls(page).count()) <= 100);
  });
});

watch(
  'a connection that is lost comes back by itself',
  async ({ page, server }) => {
    await live(page);
    const pid = () => page.locator('.server').getByText('PID').locator('..').innerText();
    const before = await pid();
    await server.stop();
    await page
      .getByRole('status')
      .getByText(/Connection lost – retrying|Server stopped/)
      .waitFor();
    const again = await start('--listen', server.url.slice(0, -1), '--admin', server.admin.slice(0, -1));
    await live(page);
    assert.notEqual(await pid(), before);
    await during(again, [request('math/add', [1, 2])], () => panel(page, 'Busiest').getByRole('row', { name: /math\/add/ }).waitFor());
  },
  { complaints: /ERR_/ },
);

watch(
  'a server that drains says so, and then that it has stopped',
  async ({ page, server }) => {
    await live(page);
    const waiting = post(server, request('wait', { seconds: 5 }));
    await page.locator('.tile', { hasText: 'In flight' }).getByText(/^1 calls?$/).waitFor();
    const stopped = server.stop();
    await page.getByText('Draining', { exact: true }).waitFor();
    await page.getByRole('status').getByText('Server stopped').waitFor();
    await Promise.all([waiting, stopped]);
  },
  { complaints: /ERR_/ },
);

test('a listener that other machines can reach gives the page to everyone, and numbers to none', async () => {
  const server = await guarded();
  assert.equal((await fetched(server.admin, 'text/html')).status, 200);
  const info = await fetch(server.admin, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request('admin/info')),
  });
  assert.equal(info.status, 401);
  await server.stop();
});

visit(
  'a token is asked for, and forgotten when the page is loaded again',
  async ({ page }) => {
    await page.getByLabel('Token').fill('wrong');
    await page.getByRole('button', { name: 'Connect' }).click();
    await sees(page, 'The server does not accept this token');
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await live(page);
    await page.getByRole('slider', { name: 'Latency: time' }).and(page.locator('[aria-valuetext*="p99"]')).waitFor();
    await page.reload();
    await page.getByLabel('Token').waitFor();
    assert.equal(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]).includes('7d0c')), false);
  },
  { from: async () => (await guarded()).admin, complaints: /401/ },
);

/** A server whose admin listener requires a token. */
async function guarded(): Promise<Running> {
  const tokens = join(await mkdtemp(join(tmpdir(), 'switchboard-')), 'tokens.txt');
  await writeFile(tokens, `alice:${TOKEN}\n`, { mode: 0o600 });
  const server = await start('--admin', 'http://0.0.0.0:0', '--tokens', tokens);
  return { ...server, admin: server.admin.replace('0.0.0.0', '127.0.0.1') };
}

for (const colorScheme of ['light', 'dark'] as const) {
  watch(
    `everything on the live page has a name and can be read, in ${colorScheme} colours`,
    async ({ page, server }) => {
      const batch = [request('math/add', [1, 2], 1), request('nope', [], 2)];
      await during(server, [batch, '{'], async () => {
        await panel(page, 'Busiest').getByRole('row', { name: /math\/add/ }).waitFor();
        await panel(page, 'Errors and refusals').getByText('parse error').waitFor();
        await calls(page).first().waitFor();
        assert.deepEqual(await nameless(page), []);
        assert.deepEqual(await faint(page), []);
        await calls(page).first().click();
        await page.getByRole('dialog').waitFor();
        assert.deepEqual(await nameless(page), []);
        assert.deepEqual(await faint(page), []);
      });
    },
    { colorScheme },
  );
}

watch(
  'on a phone nothing of the live page is cut off',
  async ({ page, server }) => {
    const long = request('a/method/with/a/name/that/is/longer/than/the/screen/is/wide');
    await during(server, [request('math/add', [1, 2]), long], async () => {
      await panel(page, 'Busiest').getByRole('row', { name: /math\/add/ }).waitFor();
      await calls(page).first().waitFor();
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 400);
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>('body *')]
          .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > 401 && !element.closest('.unseen'))
          .map((element) => `${element.tagName} ${element.className}`),
      );
      assert.deepEqual(wide, []);
    });
  },
  { viewport: { width: 400, height: 850 }, isMobile: true, hasTouch: true },
);
