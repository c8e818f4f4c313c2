import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { choose, logIn, sees, send, visit, write } from './serving.js';

const run = promisify(execFile);
/** With a token, and with our own command. */
const ENV = { ...process.env, TOKEN: 's3cret', PATH: `${dirname(process.env.SWITCHBOARD ?? '')}:${process.env.PATH}` };

async function clipboard(page: Page): Promise<string> {
  return page.evaluate(() => navigator.clipboard.readText());
}

/** The code in this language, copied by its button. */
async function code(page: Page, language: string): Promise<string> {
  await page.getByRole('tab', { name: 'Code' }).click();
  await page.getByLabel(language, { exact: true }).check();
  await page.getByRole('button', { name: 'Copy code' }).click();
  await sees(page, 'Code copied');
  return clipboard(page);
}

/** Runs code in the way of its language, with a token in its environment. */
async function execute(language: string, text: string): Promise<string> {
  const [program, ...args] = {
    curl: ['bash', '-c', text],
    Python: ['python3', '-c', text],
    JavaScript: [process.execPath, ...SOCKETS, '--input-type=module', '-e', text],
    switchboard: ['bash', '-c', text],
  }[language]!;
  return (await run(program!, args, { env: ENV, timeout: 15_000 })).stdout;
}

/** Node has them without being asked from 22 on. */
const SOCKETS = 'WebSocket' in globalThis ? [] : ['--experimental-websocket', '--no-warnings'];

/** Runs code until it has printed a text, however long it would go on. */
function runUntil(program: string, args: readonly string[], text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: ENV, stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (piece) => {
      printed += String(piece);
      if (printed.includes(text)) child.kill();
    });
    child.on('error', reject);
    child.on('close', () => (printed.includes(text) ? resolve(printed) : reject(new Error(`it ended after: ${printed}`))));
  });
}

visit('a link leads to the same call, unsent and without secrets', async ({ page }) => {
  await logIn(page, 's3cret');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByLabel('SSE', { exact: true }).check();
  await choose(page, 'echo');
  await write(page, '{"message": "é 12345678901234567890"}');
  await page.getByRole('button', { name: 'Copy link' }).click();
  await sees(page, 'Link copied');
  const link = await clipboard(page);
  const held = Buffer.from(link.split('#call=')[1]!, 'base64url').toString();
  assert.ok(held.includes('12345678901234567890') && !held.includes('s3cret'), held);
  const fresh = await page.context().newPage();
  const sent: string[] = [];
  fresh.on('request', (request) => sent.push(request.postData() ?? ''));
  await fresh.goto(link);
  await fresh.getByRole('textbox', { name: 'Params as JSON' }).getByText('é 12345678901234567890').waitFor();
  assert.equal(await fresh.getByLabel('Method', { exact: true }).inputValue(), 'echo');
  assert.ok(await fresh.getByLabel('SSE', { exact: true }).isChecked());
  assert.ok(!sent.some((body) => body.includes('echo')));
});

visit('code in each language does what the page does', async ({ page }) => {
  await logIn(page, 's3cret');
  await page.getByRole('button', { name: 'Done' }).click();
  await choose(page, 'echo');
  // Everything that a language may take for its own.
  const tricky = String.raw`{"message": "it's \"$HOME\" \\ \u0027 é 😀 %d {x} ${'`'}"}`;
  await write(page, tricky);
  await send(page);
  const result = await page.getByRole('region', { name: 'Result as JSON' }).innerText();
  for (const language of ['curl', 'Python', 'JavaScript', 'switchboard']) {
    const text = await code(page, language);
    assert.ok(!text.includes('s3cret') && text.includes('TOKEN'), text);
    const printed = await execute(language, text);
    const expected = language === 'switchboard' ? result : `"result":${result}`;
    assert.ok(printed.includes(expected), `${language}: ${printed}`);
  }
});

visit('event streams are read in each language', async ({ page }) => {
  await page.getByLabel('SSE', { exact: true }).check();
  await choose(page, 'count');
  await write(page, '{"to": 3}');
  for (const language of ['curl', 'Python', 'JavaScript']) {
    const printed = await execute(language, await code(page, language));
    for (const item of [1, 2, 3]) assert.ok(printed.includes(`"result":${item},`), `${language}: ${printed}`);
  }
});

visit('a batch is written down whole', async ({ page }) => {
  await choose(page, 'math/add');
  await write(page, '[2, 3]');
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await page.getByRole('button', { name: 'Add to batch' }).click();
  for (const language of ['curl', 'switchboard']) {
    const printed = await execute(language, await code(page, language));
    assert.equal(printed.trim(), '[{"jsonrpc":"2.0","result":5,"id":1},{"jsonrpc":"2.0","result":5,"id":2}]', language);
  }
});

visit('code for a WebSocket ends with the answer of a call and with the end of a stream', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'math/add');
  await write(page, '[2, 3]');
  assert.match(await execute('JavaScript', await code(page, 'JavaScript')), /^\{"jsonrpc":"2\.0","result":5,"id":1\}\n$/);
  assert.equal(await execute('switchboard', await code(page, 'switchboard')), '5\n');
  await choose(page, 'count');
  await write(page, '{"to": 3}');
  for (const language of ['JavaScript', 'curl', 'Python', 'switchboard']) {
    const printed = await execute(language, await code(page, language));
    for (const item of [1, 2, 3]) assert.match(printed, new RegExp(`(^|"result":)${item}\\b`, 'm'), `${language}: ${printed}`);
  }
});

visit('code for a method that pushes goes on receiving, or says why it cannot', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'watch');
  await write(page, '{"seconds": 0.01}');
  const third = '"method":"onTick","params":[2]';
  await runUntil(process.execPath, [...SOCKETS, '--input-type=module', '-e', await code(page, 'JavaScript')], third);
  await runUntil('bash', ['-c', `exec ${await code(page, 'switchboard')}`], third);
  for (const language of ['curl', 'Python']) {
    const text = await code(page, language);
    assert.match(text, /cannot send WebSocket messages, so this calls the same address over HTTP\.\n# Over HTTP, the server can only push/);
    assert.match(await execute(language, text), /"method":"onTick"[^]*"result":null/, language);
  }
});

visit('code is coloured, and still copied as it is', async ({ page }) => {
  await choose(page, 'math/add');
  for (const language of ['switchboard', 'curl', 'Python', 'JavaScript', 'Rust']) {
    const text = await code(page, language);
    const shown = page.getByRole('region', { name: 'Code' }).locator('code');
    assert.equal(await shown.textContent(), text);
    assert.ok((await shown.locator('.t-string').count()) > 0 && (await shown.locator('.t-word').count()) > 0, language);
  }
});

visit('Rust is written for every transport', async ({ page, url }) => {
  await choose(page, 'count');
  await write(page, '{"to": 3}');
  assert.match(await code(page, 'Rust'), /peer\.call\("count", Json::parse\(r#"\{"to":3\}"#\)\?\)/);
  await page.getByLabel('WebSocket', { exact: true }).check();
  const text = await code(page, 'Rust');
  assert.ok(text.includes(`switchboard::connect("${url.replace('http', 'ws')}")`), text);
  assert.match(text, /peer\.stream::<Json>/);
});

visit('a link to another server asks nothing of it', async ({ page, url }) => {
  const held = Buffer.from(JSON.stringify({ e: 'http://elsewhere.example/', t: 'http', v: '2.0', m: 'drop', p: '' })).toString('base64url');
  await page.goto('about:blank');
  await page.goto(`${url}#call=${held}`);
  await sees(page, 'This link calls elsewhere.example. No request has been sent yet.');
  await sees(page, 'List its methods');
  assert.equal(await page.getByLabel('Method', { exact: true }).inputValue(), 'drop');
});
