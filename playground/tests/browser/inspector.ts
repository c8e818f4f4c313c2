import assert from 'node:assert/strict';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { faint, nameless } from './access.js';
import { fetched } from './page.js';
import { PROGRAM, sees, serve, started, visit } from './serving.js';

/** A server with a tool for everything: images, audio, questions, progress. */
export const FIXTURES = join(dirname(PROGRAM), 'examples', 'mcp_conformance_server');

/** Starts the inspector of a server; gives the link that it prints. */
export async function inspect(target: string, ...options: string[]): Promise<string> {
  const { found } = await started(['inspect', target, ...options], /Open (\S+)/);
  return found;
}

const overStdio = () => inspect(`exec:${FIXTURES} stdio`);

/** The same server over HTTP. */
async function overHttp(): Promise<string> {
  const { found } = await started(['127.0.0.1:0'], /MCP at (\S+)/, FIXTURES);
  return inspect(found);
}

/** A test with the page of an inspector that no other test uses. */
function inspected(
  name: string,
  run: (page: Page, url: string) => Promise<void>,
  from = overStdio,
  wishes: Parameters<typeof visit>[2] = {},
): void {
  visit(name, ({ page, url }) => run(page, url), { ...wishes, from });
}

/** Chooses something that the server offers, when it is listed. */
async function take(page: Page, name: string, tab?: 'Tools' | 'Resources' | 'Prompts'): Promise<void> {
  if (tab) await page.getByRole('tab', { name: tab }).click();
  await page.getByRole('listbox', { name: 'Found' }).getByText(name, { exact: true }).click();
}

/** Sends it. */
async function press(page: Page, name = /^(Call tool|Read|Get prompt)$/): Promise<void> {
  await page.getByRole('button', { name }).click();
}

/** Calls a tool, and waits for its end. */
async function callTool(page: Page, name: string): Promise<void> {
  await take(page, name);
  await press(page);
  await ended(page);
}

async function ended(page: Page, word = /^(done|failed)$/): Promise<void> {
  await page.locator('.status .chip').getByText(word).waitFor();
}

const result = (page: Page): Locator => page.getByRole('region', { name: 'Result', exact: true });
const dialog = (page: Page): Locator => page.getByRole('dialog');

test('the inspector is under 120 KB, has all it needs, and calls its own server only', async () => {
  const { status, headers, body } = await fetched((await overStdio()).split('#')[0]!, 'text/html');
  assert.equal(status, 200);
  assert.ok(body.length < 120_000, `${body.length} bytes`);
  assert.match(String(headers['content-security-policy']), /^default-src 'none'; script-src 'sha256-[^']+'; .*connect-src 'self';/);
});

for (const [how, from] of [
  ['over stdio', overStdio],
  ['over HTTP', overHttp],
] as const) {
  inspected(
    `tools are found, called and shown ${how}`,
    async (page) => {
      await sees(page, 'mcp-conformance-server');
      const found = page.getByRole('listbox', { name: 'Found' });
      await found.getByText('test_simple_text', { exact: true }).waitFor();
      await page.getByRole('searchbox').fill('image');
      await found.getByText('test_simple_text', { exact: true }).waitFor({ state: 'hidden' });
      await callTool(page, 'test_image_content');
      const image = result(page).getByRole('img');
      await image.waitFor();
      assert.equal(await image.evaluate((image: HTMLImageElement) => image.naturalWidth), 1, 'the image is drawn');
      await page.getByRole('searchbox').fill('');
      await callTool(page, 'test_audio_content');
      const audio = result(page).locator('audio');
      await audio.waitFor();
      assert.match((await audio.getAttribute('src')) ?? '', /^data:audio\/wav;base64,UklGR/);
      await callTool(page, 'test_multiple_content_types');
      await result(page).getByText('Multiple content types test:').waitFor();
      await result(page).getByText('test://mixed-content-resource').waitFor();
      await result(page).getByRole('region', { name: 'Text as JSON' }).getByText('"value"').waitFor();
      await callTool(page, 'test_error_handling');
      await result(page).getByText('The tool failed.').waitFor();
      assert.equal(await page.locator('.status .chip').innerText(), 'failed');
    },
    from,
  );

  inspected(
    `progress and log messages come while a tool runs ${how}`,
    async (page) => {
      await callTool(page, 'test_tool_with_progress');
      await page.getByRole('region', { name: 'Progress' }).getByText('100 of 100').waitFor();
      await callTool(page, 'test_tool_with_logging');
      await page.getByRole('tab', { name: /^Log \(\d\)$/ }).click();
      const log = page.getByRole('list', { name: 'Log' });
      await log.getByText('Tool execution started').waitFor();
      await log.getByText('Tool execution completed').waitFor();
    },
    from,
  );

  inspected(
    `forms of the server are filled in, declined and cancelled ${how}`,
    async (page) => {
      await take(page, 'test_elicitation');
      await page.getByLabel('message').fill('Who are you?');
      await press(page);
      await dialog(page).getByText('Who are you?').waitFor();
      await dialog(page).getByLabel('username').fill('ann');
      await dialog(page).getByLabel('email').fill('ann@example.com');
      await dialog(page).getByRole('button', { name: 'Submit' }).click();
      await result(page).getByText('User response: accept, ann, ann@example.com').waitFor();
      for (const [button, word] of [
        ['Decline', 'decline'],
        ['Cancel', 'cancel'],
      ] as const) {
        await press(page);
        await dialog(page).getByRole('button', { name: button }).click();
        await result(page).getByText(`User response: ${word}`).waitFor();
      }
      await press(page);
      await dialog(page).waitFor();
      await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'hidden' });
      await ended(page);
    },
    from,
  );
}

inspected('forms begin with the defaults, and refuse what the schema does not allow', async (page) => {
  await take(page, 'test_elicitation_sep1034_defaults');
  await press(page);
  assert.equal(await dialog(page).getByLabel('name').inputValue(), 'John Doe');
  await dialog(page).getByLabel('age').fill('old');
  assert.ok(await dialog(page).getByRole('button', { name: 'Submit' }).isDisabled());
  await dialog(page).getByText(/age: must be/).waitFor();
  await dialog(page).getByLabel('age').fill('31');
  await dialog(page).getByLabel('status').selectOption('"pending"');
  await dialog(page).getByRole('button', { name: 'Submit' }).click();
  await result(page).getByText(/"age":\s*31/).waitFor();
  await result(page).getByText(/"status":\s*"pending"/).waitFor();
});

inspected('a question that is not wanted any more closes', async (page) => {
  await take(page, 'test_elicitation_sep1330_enums');
  await press(page);
  await dialog(page).waitFor();
  // The dialog is modal, so that nothing behind it can be pressed.
  await page.evaluate(() => [...document.querySelectorAll('button')].find((button) => button.textContent?.includes('Stop'))!.click());
  await dialog(page).waitFor({ state: 'hidden' });
  await ended(page, /^stopped$/);
});

inspected('a model is played by hand, or refused', async (page) => {
  await take(page, 'test_sampling');
  await page.getByLabel('prompt').fill('Say hello');
  await press(page);
  await dialog(page).getByText('Say hello').waitFor();
  await dialog(page).getByLabel(/Answer of the model/).fill('Hello!');
  await dialog(page).getByRole('button', { name: 'Send answer' }).click();
  await result(page).getByText('LLM response: Hello!').waitFor();
  await press(page);
  await dialog(page).getByRole('button', { name: 'Refuse' }).click();
  await sees(page, 'User rejected sampling request');
});

inspected('resources, templates and prompts are read with completed arguments', async (page) => {
  await take(page, 'Static text', 'Resources');
  await press(page);
  await result(page).getByText('This is the content of the static text resource.').waitFor();
  await take(page, 'Static binary');
  await press(page);
  await result(page).getByRole('img').waitFor();
  const template = page.getByRole('group', { name: 'resource templates' }).getByRole('option').first();
  await template.click();
  await page.locator('.form input').first().fill('a b');
  await sees(page, /a%20b/);
  await press(page);
  await ended(page);
  await take(page, 'test_prompt_with_arguments', 'Prompts');
  const [first] = await page.locator('.form input').all();
  await first!.fill('pa');
  await page.locator('datalist option').first().waitFor({ state: 'attached' });
  for (const input of await page.locator('.form input').all()) await input.fill('paris');
  await press(page);
  await result(page).getByRole('list', { name: 'Messages' }).getByText(/paris/).first().waitFor();
});

inspected('every message is drawn, listed and saved as a recording that can be replayed', async (page) => {
  await callTool(page, 'test_simple_text');
  await callTool(page, 'test_error_handling');
  await page.getByRole('tab', { name: 'Messages' }).click();
  const drawing = page.getByRole('img', { name: /between Inspector and mcp-conformance-server/ });
  await drawing.getByText(/tools\/call \{"name":"test_simple_text"/).waitFor();
  await page.getByLabel('List', { exact: true }).check();
  const list = page.getByRole('list', { name: 'Messages in order' });
  await list.getByRole('button', { name: /tools\/list/ }).first().click();
  await list.getByRole('region', { name: /^Message \d+$/ }).waitFor();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Save recording' }).click();
  const text = await readFile((await (await download).path())!, 'utf8');
  assert.match(text, /"method":"tools\/call","params":\{"name":"test_simple_text"/);
  const file = join(await mkdtemp(join(tmpdir(), 'inspector-')), 'recording.jsonl');
  await writeFile(file, text);
  const { said, code } = await started(['replay', file, `exec:${FIXTURES} stdio`], undefined);
  assert.equal(code, 0, said);
});

inspected('any request can be sent, and history brings back what was', async (page) => {
  await page.getByLabel('Method', { exact: true }).fill('no/such');
  await page.getByRole('button', { name: 'Send request' }).click();
  await page.getByRole('region', { name: 'Error' }).getByText('-32601').waitFor();
  await take(page, 'test_header_param');
  await page.locator('#param-region').fill('us');
  await press(page);
  await result(page).getByText('region: us').waitFor();
  await page.locator('#param-region').fill('ap');
  await page.getByRole('tab', { name: 'History' }).click();
  await page.getByRole('listbox', { name: 'History' }).getByText('test_header_param').click();
  assert.equal(await page.locator('#param-region').inputValue(), 'us');
});

inspected('lists follow the changes of the server', async (page) => {
  await callTool(page, 'test_trigger_tool_change');
  await page.getByRole('tab', { name: /^Log/ }).click();
  await sees(page, 'The list of tools has changed');
});

inspected('the page can be loaded again, and knows what went before', async (page, url) => {
  await callTool(page, 'test_simple_text');
  assert.ok(!page.url().includes('#'), 'the token is not in the address bar');
  assert.ok(url.includes('#'));
  await page.reload();
  await take(page, 'test_simple_text');
  await page.getByRole('tab', { name: 'Messages' }).click();
  await page.getByRole('img', { name: /between Inspector/ }).getByText(/test_simple_text/).waitFor();
});

inspected(
  'another server can be connected to, but no other program started',
  async (page) => {
    await sees(page, 'mcp-conformance-server');
    const address = page.getByLabel('MCP server');
    await address.fill('exec:touch /tmp/never');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('alert').getByText(/can connect to http, https/).waitFor();
    await address.fill(`${await serve()}mcp`);
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await take(page, 'math_add');
    await page.locator('#param-a').fill('2');
    await page.locator('#param-b').fill('3');
    await press(page);
    await result(page).getByText('5').first().waitFor();
    await address.fill('http://127.0.0.1:1/mcp');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByRole('alert').getByText(/cannot connect|nothing is listening/i).waitFor();
  },
);

inspected(
  'the link works once: another tab, no token, a wrong one and pages of other sites get nothing',
  async (page, url) => {
    await sees(page, 'mcp-conformance-server');
    const second = await page.context().newPage();
    await second.goto(url);
    await sees(second, 'This page needs a new link');
    await second.goto(url.split('#')[0]!);
    await sees(second, 'This page needs a new link');
    const opens = (token: string) =>
      second.evaluate(
        ([place, protocols]) =>
          new Promise<boolean>((resolve) => {
            const socket = new WebSocket(place!, JSON.parse(protocols!) as string[]);
            socket.onopen = () => resolve(true);
            socket.onclose = () => resolve(false);
          }),
        [url.split('#')[0]!.replace('http', 'ws'), JSON.stringify(token ? ['jsonrpc', `bearer.${token}`] : ['jsonrpc'])],
      );
    assert.equal(await opens(''), false);
    assert.equal(await opens('x'.repeat(43)), false);
    assert.equal(await opens(url.split('#')[1]!), false, 'it was used');
    const session = await page.evaluate(() => JSON.parse(sessionStorage.getItem('switchboard.inspector.token')!) as string);
    assert.equal(await opens(session), true, 'only the token of the page is accepted');
  },
  overStdio,
  { complaints: /WebSocket connection/ },
);

test('calls by POST and pages of other origins are refused, with the token too', async () => {
  const url = await overStdio();
  const [place, token] = url.split('#') as [string, string];
  const body = '{"jsonrpc":"2.0","method":"inspect/open","id":1}';
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  assert.equal((await fetch(place, { method: 'POST', headers, body })).status, 401);
  const handshake = (origin: string) => {
    const { host, hostname, port } = new URL(place);
    const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nOrigin: ${origin}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`;
    const rest = `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: jsonrpc, bearer.${token}\r\n\r\n`;
    return statusOf(hostname, Number(port), head + rest);
  };
  assert.equal(await handshake('https://evil.example'), 403);
  assert.equal(await handshake('null'), 403);
  assert.equal(await handshake(new URL(place).origin), 101, 'it was not used up by those that were refused');
});

/** The status of the response to a request that is sent as it is. */
function statusOf(host: string, port: number, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(request));
    socket.once('data', (data) => {
      resolve(Number(String(data).split(' ')[1]));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('it listens on this machine only', async () => {
  for (const place of ['http://0.0.0.0:0', 'http://[::]:0', 'https://127.0.0.1:0', 'tcp://127.0.0.1:0']) {
    const { said, code } = await started(['inspect', `exec:${FIXTURES} stdio`, '--listen', place], undefined);
    assert.equal(code, 2, said);
    assert.match(said, /listen on this machine/);
  }
});

inspected('everything has a name and can be read, in light and dark', async (page) => {
  await callTool(page, 'test_multiple_content_types');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    for (const tab of ['Result', 'Messages']) {
      await page.getByRole('tab', { name: tab, exact: true }).click();
      assert.deepEqual(await nameless(page), []);
      assert.deepEqual(await faint(page), []);
    }
  }
});

inspected(
  'on a phone one pane is shown at a time, and nothing is cut off',
  async (page) => {
    const fits = async (where: string) => {
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, where);
    };
    await fits('list');
    await take(page, 'test_elicitation');
    await fits('request');
    await page.getByLabel('message').fill('Who?');
    await press(page);
    await dialog(page).waitFor();
    await fits('dialog');
    await dialog(page).getByRole('button', { name: 'Decline' }).click();
    await ended(page);
    await fits('answer');
    await page.getByRole('tab', { name: 'Messages' }).click();
    await fits('messages');
  },
  overStdio,
  { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
);
