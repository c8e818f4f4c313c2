import assert from 'node:assert/strict';
import { choose, ended, sees, send, visit } from './serving.js';

visit('calls are kept, restored and cleared', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('1234');
  await send(page);
  await choose(page, 'math/sqrt');
  await page.getByLabel('x number').fill('-1');
  await send(page);
  await page.reload();
  await page.getByRole('tab', { name: 'History' }).click();
  const list = page.getByRole('listbox', { name: 'History' });
  const entries = list.getByRole('option');
  assert.match(await entries.nth(0).innerText(), /math\/sqrt[^]*error -32001/);
  assert.match(await entries.nth(1).innerText(), /math\/add[^]*result/);
  await entries.nth(1).click();
  assert.equal(await page.getByLabel('a number').inputValue(), '1234');
  await page.getByRole('button', { name: 'Clear' }).click();
  await sees(page, 'No request sent yet');
  await page.reload();
  assert.equal(await page.evaluate(() => localStorage.getItem('switchboard.history')), null);
});

visit('an earlier answer of this session is shown again', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('1');
  await page.getByLabel('b number').fill('1');
  await send(page);
  await choose(page, 'math/sqrt');
  await page.getByLabel('x number').fill('-1');
  await send(page);
  await page.getByLabel('Sent this session').selectOption({ index: 1 });
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '2');
});

visit('a batch is kept and restored', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('1234');
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await page.getByRole('button', { name: 'Send batch' }).click();
  await ended(page);
  await page.reload();
  await page.getByRole('tab', { name: 'History' }).click();
  const entry = page.getByRole('listbox', { name: 'History' }).getByRole('option').first();
  assert.match(await entry.innerText(), /^Batch of 2[^]*2 answers math\/add, math\/add$/);
  await entry.click();
  const tray = page.getByRole('region', { name: 'Batch', exact: true });
  assert.deepEqual(await tray.locator('.tray-params').allInnerTexts(), Array(2).fill('{ "a": 1234, "b": 3 }'));
});

visit('a message that breaks a rule is kept and restored as it was sent', async ({ page }) => {
  await page.getByRole('tab', { name: 'Break rules' }).click();
  await page.getByRole('listbox', { name: 'Rules to break' }).getByText('An empty batch').click();
  await page.getByRole('button', { name: 'Send message' }).click();
  await page.locator('.verdict').waitFor();
  await page.getByRole('textbox', { name: 'Message' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('[ 5 ]');
  await page.getByRole('button', { name: 'Send message' }).click();
  await ended(page);
  await page.reload();
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('listbox', { name: 'History' }).getByRole('option');
  assert.match(await entries.nth(1).innerText(), /^An empty batch[^]*as expected \[\]$/);
  await entries.nth(0).click();
  await page.getByRole('heading', { name: 'An empty batch' }).waitFor();
  assert.equal(await page.getByRole('textbox', { name: 'Message' }).innerText(), '[ 5 ]');
});

visit('a message that was typed is kept and restored as it was sent, even if it is not valid', async ({ page }) => {
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
  const message = page.getByRole('textbox', { name: 'Message' });
  const type = async (text: string) => {
    await message.click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText(text);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await ended(page);
  };
  await type('{"jsonrpc": "2.0", "id": 7,}');
  await type('[{"jsonrpc": "2.0", "method": "sum", "params": [1, 2], "id": "a"}]');
  await page.reload();
  await page.getByRole('tab', { name: 'History' }).click();
  const entries = page.getByRole('listbox', { name: 'History' }).getByRole('option');
  assert.match(await entries.nth(0).innerText(), /^Batch of 1[^]*1 answer sum$/);
  assert.match(await entries.nth(1).innerText(), /^Message[^]*error -32700 \{"jsonrpc": "2\.0", "id": 7,\}$/);
  await entries.nth(1).click();
  assert.equal(await message.innerText(), '{"jsonrpc": "2.0", "id": 7,}');
  await entries.nth(0).click();
  assert.deepEqual(JSON.parse(await message.innerText()), [{ jsonrpc: '2.0', method: 'sum', params: [1, 2], id: 1 }]);
});
