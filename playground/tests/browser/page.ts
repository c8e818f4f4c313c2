import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { get } from 'node:http';
import { test } from 'node:test';
import { choose, sees, send, serve, shared, visit } from './serving.js';

/** The response to a browser, as it came. */
export function fetched(
  url: string,
  accept: string,
  encoding = 'gzip',
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { accept, 'accept-encoding': encoding } }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }));
    }).on('error', reject);
  });
}

test('the first load is under 200 KB, and there is no second', async () => {
  const { status, headers, body } = await fetched(await shared(), 'text/html');
  assert.equal(status, 200);
  assert.equal(headers['content-encoding'], 'gzip');
  assert.ok(body.length < 200_000, `${body.length} bytes`);
  const html = gunzipSync(body).toString();
  assert.doesNotMatch(html, /<(?:script|img|iframe)[^>]+src=|<link[^>]+href="(?!data:)|@import|url\((?!["']?data:)/);
});

test('clients that do not take gzip get the page as it is', async () => {
  const { status, headers, body } = await fetched(await shared(), 'text/html', 'identity');
  assert.equal(status, 200);
  assert.equal(headers['content-encoding'], undefined);
  const compressed = (await fetched(await shared(), 'text/html')).body;
  assert.ok(body.equals(gunzipSync(compressed)));
  assert.equal((await fetched(await shared(), 'text/html', 'identity;q=0')).status, 406);
});

test('the page is served with a policy that names what it holds', async () => {
  const { headers } = await fetched(await shared(), 'text/html');
  const policy = String(headers['content-security-policy']);
  assert.match(policy, /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+';/);
  assert.match(policy, /frame-ancestors 'none'; base-uri 'none'; form-action 'none'/);
  assert.doesNotMatch(policy, /unsafe/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['referrer-policy'], 'no-referrer');
});

test('clients that do not ask for HTML get no page, and the page can be turned off', async () => {
  assert.equal((await fetched(await shared(), 'application/json')).status, 405);
  assert.equal((await fetched(await shared(), '*/*')).status, 405);
  assert.equal((await fetched(await serve('--no-playground'), 'text/html')).status, 405);
});

visit(
  'what is put into the page later does not run',
  async ({ page }) => {
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      try {
        script.textContent = 'window.ran = true';
      } catch {
        // Refused before it is even written.
      }
      document.body.append(script);
      document.body.setAttribute('style', 'display: none');
      return { ran: 'ran' in window, display: getComputedStyle(document.body).display };
    });
    assert.deepEqual(ran, { ran: false, display: 'block' });
  },
  { complaints: /Content Security Policy|TrustedScript/ },
);

// Every visit fails if it asks another host; this one has no network at all.
visit('it works offline: once loaded, it needs its server only', async ({ page }) => {
  await choose(page, 'math/add');
  await send(page);
  for (const tab of ['Wire', 'Code', 'Result']) await page.getByRole('tab', { name: tab }).click();
  const asked = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => new URL(entry.name).host));
  assert.deepEqual([...new Set(asked)], [new URL(page.url()).host]);
});

visit(
  'the colours follow the system and can be chosen',
  async ({ page }) => {
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.getByRole('button', { name: 'Theme: system' }).click();
    const light = await ground();
    assert.notEqual(light, dark);
    await page.getByRole('button', { name: 'Theme: light' }).click();
    assert.equal(await ground(), dark);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(await ground(), dark);
    await page.reload();
    assert.equal(await ground(), dark);
  },
  { colorScheme: 'dark' },
);

visit(
  'on a phone one pane is shown at a time, and nothing is cut off',
  async ({ page }) => {
    const fits = async (where: string) => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(width, 390, where);
      const wide = await page.evaluate(() =>
        [...document.querySelectorAll<HTMLElement>('body *')]
          .filter(
            (element) =>
              element.checkVisibility() && element.getBoundingClientRect().right > 391 && !element.closest('pre, .unseen, .items'),
          )
          .map((element) => element.className || element.tagName),
      );
      assert.deepEqual(wide, [], where);
    };
    await choose(page, 'math/add');
    await fits('request');
    await page.getByText('Params and result').click();
    await fits('schema');
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('region', { name: 'Result as JSON' }).waitFor();
    assert.ok(!(await page.getByRole('main').isVisible()));
    await fits('answer');
    for (const tab of ['Wire', 'Code']) {
      await page.getByRole('tab', { name: tab }).click();
      await fits(tab);
    }
    await page.getByRole('button', { name: 'Choose' }).click();
    await fits('methods');
    await page.getByRole('tab', { name: 'Break rules' }).click();
    await fits('rules');
    await page.getByText('Nested 1,000 levels deep').click();
    await fits('rule');
    await page.getByRole('button', { name: 'Headers' }).click();
    await page.getByRole('button', { name: 'Add header' }).click();
    await fits('headers');
  },
  { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
);

visit(
  'on a small laptop the whole request is seen at once',
  async ({ page }) => {
    await choose(page, 'ticks');
    const box = await page.locator('.editor-box').boundingBox();
    const button = await page.getByRole('button', { name: 'Send' }).boundingBox();
    assert.ok(box && button && box.height > 80, 'the editor has room for its lines');
    assert.ok(box.y + box.height <= button.y && button.y + button.height <= 700, JSON.stringify({ box, button }));
    const [methods, history] = await Promise.all(['Methods', 'History'].map((name) => page.getByRole('tab', { name }).boundingBox()));
    const list = await page.getByRole('navigation').boundingBox();
    assert.ok(methods && history && list && history.x + history.width <= list.x + list.width);
    assert.equal(history.y, methods.y, 'all tabs are in one row');
  },
  { viewport: { width: 1024, height: 700 } },
);

visit(
  'on a tablet the whole request is seen at once',
  async ({ page }) => {
    for (const method of ['math/add', 'ticks', 'demo/error']) {
      await choose(page, method);
      const box = await page.locator('.editor-box').boundingBox();
      const button = await page.getByRole('button', { name: 'Send' }).boundingBox();
      assert.ok(box && button && box.y + box.height <= button.y, `${method}: ${JSON.stringify({ box, button })}`);
    }
    await page.getByRole('button', { name: 'Add to batch' }).click();
    const tray = await page.getByRole('region', { name: 'Batch' }).boundingBox();
    const button = await page.getByRole('button', { name: 'Send', exact: true }).boundingBox();
    assert.ok(tray && button && tray.y + tray.height <= button.y, JSON.stringify({ tray, button }));
  },
  { viewport: { width: 768, height: 1024 } },
);

visit(
  'long advice about an endpoint can be read to its end',
  async ({ page }) => {
    await page.getByLabel('Endpoint').fill('http://127.0.0.1:9/');
    await page.keyboard.press('Enter');
    const again = page.getByRole('button', { name: 'Try again' });
    await again.scrollIntoViewIfNeeded();
    const [button, list] = [await again.boundingBox(), await page.locator('.sidebar-panel').boundingBox()];
    assert.ok(button && list && button.y + button.height <= list.y + list.height, JSON.stringify({ button, list }));
  },
  { viewport: { width: 1024, height: 600 }, hosts: 'any', complaints: /ERR_|Failed to load/ },
);

visit('a server that does not describe itself can still be called', async ({ page, url }) => {
  await page.route(url, (route) => {
    const isAsked = route.request().postData()?.includes('rpc.discover') === true;
    const error = '{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}';
    return isAsked ? route.fulfill({ contentType: 'application/json', body: error }) : route.continue();
  });
  await page.reload();
  await sees(page, 'This server does not list its methods');
  await page.getByLabel('Method', { exact: true }).fill('sum');
  await page.getByRole('textbox', { name: 'Params as JSON' }).click();
  await page.keyboard.insertText('[1, 2]');
  await send(page);
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '3');
});
