import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { choose, sees, send, visit, write } from './serving.js';

const run = promisify(execFile);

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
  const env = { ...process.env, TOKEN: 's3cret' };
  const [program, ...args] = {
    curl: ['bash', '-c', text],
    Python: ['python3', '-c', text],
    JavaScript: [process.execPath, '--input-type=module', '-e', text],
  }[language]!;
  return (await run(program!, args, { env, timeout: 15_000 })).stdout;
}

visit('a link leads to the same call, unsent and without secrets', async ({ page }) => {
  await page.getByRole('button', { name: 'Headers and token' }).click();
  await page.getByLabel('Bearer token').fill('s3cret');
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

visit('curl, Python and JavaScript do what the page does', async ({ page }) => {
  await page.getByRole('button', { name: 'Headers and token' }).click();
  await page.getByLabel('Bearer token').fill('s3cret');
  await page.getByRole('button', { name: 'Done' }).click();
  await choose(page, 'echo');
  // Everything that a language may take for its own.
  const tricky = String.raw`{"message": "it's \"$HOME\" \\ \u0027 é 😀 %d {x} ${'`'}"}`;
  await write(page, tricky);
  await send(page);
  const result = await page.getByRole('region', { name: 'Result as JSON' }).innerText();
  for (const language of ['curl', 'Python', 'JavaScript']) {
    const text = await code(page, language);
    assert.ok(!text.includes('s3cret') && text.includes('TOKEN'), text);
    const printed = await execute(language, text);
    assert.ok(printed.includes(`"result":${result}`), `${language}: ${printed}`);
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
  const printed = await execute('curl', await code(page, 'curl'));
  assert.equal(printed, '[{"jsonrpc":"2.0","result":5,"id":1},{"jsonrpc":"2.0","result":5,"id":2}]');
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
  await sees(page, 'This link calls elsewhere.example; nothing was sent yet');
  await sees(page, 'Ask what it serves');
  assert.equal(await page.getByLabel('Method', { exact: true }).inputValue(), 'drop');
});
