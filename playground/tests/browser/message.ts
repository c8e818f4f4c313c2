import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, ended, sees, visit } from './serving.js';

async function showMessage(page: Page): Promise<void> {
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
}

function box(page: Page) {
  return page.getByRole('textbox', { name: 'Message' });
}

/** Puts this text into the editor of the message. */
async function type(page: Page, text: string): Promise<void> {
  await box(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(text);
}

/** Sends, and gives the body that went out. */
async function sent(page: Page): Promise<string | null> {
  const [request] = await Promise.all([
    page.waitForRequest((request) => request.method() === 'POST'),
    page.getByRole('button', { name: /^(Send|Notify)$/ }).click(),
  ]);
  await ended(page);
  return request.postData();
}

visit('the whole message is shown before it is sent, and sent as it is shown', async ({ page }) => {
  await choose(page, 'math/add');
  await showMessage(page);
  const shown = await box(page).innerText();
  assert.deepEqual(JSON.parse(shown), { jsonrpc: '2.0', method: 'math/add', params: { a: 2, b: 3 }, id: 1 });
  assert.equal(await sent(page), shown);
  assert.equal(JSON.parse(await box(page).innerText()).id, 2);
});

visit('a message that was changed is sent byte for byte, and the form follows', async ({ page }) => {
  await choose(page, 'math/add');
  await showMessage(page);
  const text = '{"id": "mine",   "jsonrpc": "2.0", "method": "math/subtract", "params": {"a": 50, "b": 8}}';
  await type(page, text);
  assert.equal(await sent(page), text);
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '42');
  assert.equal(await box(page).innerText(), text);
  await page.getByRole('tab', { name: 'Code' }).click();
  await page.getByRole('radio', { name: 'curl' }).check();
  assert.ok((await page.locator('.code pre').innerText()).includes(text));
  await page.getByRole('tab', { name: 'Result' }).click();
  await page.getByRole('radio', { name: 'Params', exact: true }).check();
  assert.equal(await page.getByLabel('Method', { exact: true }).inputValue(), 'math/subtract');
  assert.equal(await page.getByLabel('a number').inputValue(), '50');
  await page.getByLabel('a number').fill('51');
  await showMessage(page);
  assert.deepEqual(JSON.parse(await box(page).innerText()).params, { a: 51, b: 8 });
});

visit('a message that breaks a rule gets a remark and is sent all the same', async ({ page }) => {
  await choose(page, 'math/add');
  await showMessage(page);
  await type(page, '{"jsonrpc": "2.0", "method": "math/add", "params": "bar", "id": 5}');
  await page.getByRole('list', { name: 'Remarks' }).getByText('"params" must be an array or an object.').waitFor();
  assert.match((await sent(page)) ?? '', /"params": "bar"/);
  await sees(page, '-32600');
  await page.getByRole('button', { name: 'Reset' }).click();
  assert.equal(await page.getByRole('list', { name: 'Remarks' }).getByRole('listitem').count(), 0);
  assert.deepEqual(JSON.parse(await box(page).innerText()).params, { a: 2, b: 3 });
});

visit('a message that was typed for one call is gone with it', async ({ page }) => {
  await choose(page, 'math/add');
  await showMessage(page);
  await type(page, '{"broken"');
  await choose(page, 'sum');
  await choose(page, 'math/add');
  assert.equal(JSON.parse(await box(page).innerText()).method, 'math/add');
  await page.getByRole('tab', { name: 'Lessons' }).click();
  await page.getByRole('listbox', { name: 'Lessons' }).getByText('Batches').click();
  assert.ok(Array.isArray(JSON.parse(await box(page).innerText())));
  await page.getByRole('tab', { name: 'Methods' }).click();
  await choose(page, 'math/add');
  assert.equal(JSON.parse(await box(page).innerText()).method, 'math/add');
});

visit('a broken message over a WebSocket is answered in its own exchange', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('WebSocket', { exact: true }).check();
  await showMessage(page);
  await type(page, '{"jsonrpc": "2.0", "method": "math/add", "params": [1, 2], "id": 5');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await ended(page);
  await sees(page, '-32700');
});

visit('the message of a batch is an array, and what is changed in it is the batch', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await choose(page, 'sum');
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await showMessage(page);
  await page.getByRole('radio', { name: 'Batch of 2' }).check();
  const entries = JSON.parse(await box(page).innerText()) as { method: string; id: number }[];
  assert.deepEqual(
    entries.map(({ method, id }) => [method, id]),
    [
      ['math/add', 1],
      ['sum', 2],
    ],
  );
  await type(page, JSON.stringify([...entries, { jsonrpc: '2.0', method: 'echo', params: ['hi'], id: 'x' }]));
  await page.getByRole('radio', { name: 'Batch of 3' }).waitFor();
  await sent(page);
  await page.locator('.batch').getByText('"x"').waitFor();
  assert.equal(await page.getByRole('region', { name: 'Batch', exact: true }).getByRole('listitem').count(), 3);
});
