import assert from 'node:assert/strict';
import { choose, sees, send, visit } from './serving.js';

visit('what was sent is kept, restored and cleared', async ({ page }) => {
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
  await sees(page, 'Nothing was sent yet');
  await page.reload();
  assert.equal(await page.evaluate(() => localStorage.getItem('switchboard.history')), null);
});

visit('a visit goes back to what it sent before', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('1');
  await page.getByLabel('b number').fill('1');
  await send(page);
  await choose(page, 'math/sqrt');
  await page.getByLabel('x number').fill('-1');
  await send(page);
  await page.getByLabel('Sendings of this visit').selectOption({ index: 1 });
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '2');
});
