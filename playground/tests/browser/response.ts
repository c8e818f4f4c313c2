import assert from 'node:assert/strict';
import { choose, ended, send, visit } from './serving.js';

visit('the whole response is shown with its envelope', async ({ page }) => {
  await choose(page, 'math/add');
  await send(page);
  await page.getByRole('radio', { name: 'Whole response' }).check();
  const text = await page.getByRole('region', { name: 'Whole response' }).innerText();
  assert.deepEqual(JSON.parse(text), { jsonrpc: '2.0', result: 5, id: 1 });
  await page.getByRole('radio', { name: 'Result', exact: true }).check();
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '5');
});

visit('each item of a stream is shown with its envelope', async ({ page }) => {
  await page.getByLabel('SSE', { exact: true }).check();
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('2');
  await page.getByRole('button', { name: 'Send' }).click();
  await ended(page);
  await page.getByRole('radio', { name: 'Whole response' }).check();
  const items = page.getByRole('list', { name: 'Whole responses' }).getByRole('listitem');
  assert.match(await items.nth(1).innerText(), /"result": 2, "id": 1/);
});

visit('an id has the same colour in the message, the response and on the wire', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
  const colour = (place: string, id: string) =>
    page
      .locator(place)
      .getByText(id, { exact: true })
      .first()
      .evaluate((element) => getComputedStyle(element).color);
  const before = await colour('.editor .cm-line [class*=id-]', '1');
  await send(page);
  await page.getByRole('radio', { name: 'Whole response' }).check();
  assert.equal(await colour('.answer .id', '1'), before);
  await page.getByRole('tab', { name: 'Wire' }).click();
  const ids = page.locator('.wire .id');
  assert.equal(await ids.count(), 2);
  for (const each of await ids.all()) assert.equal(await each.evaluate((element) => getComputedStyle(element).color), before);
  assert.notEqual(await colour('.editor .cm-line [class*=id-]', '2'), before);
});

visit('a result of two megabytes folds, and stays quick', async ({ page }) => {
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('300000');
  await page.getByRole('button', { name: 'Send' }).click();
  const tree = page.getByRole('region', { name: 'Result as JSON' });
  await tree.getByText('300,000 items').waitFor();
  await tree.getByRole('button', { name: '290,000 … 299,999' }).click();
  await tree.getByRole('button', { name: '299,900 … 299,999' }).click();
  await tree.getByText('300000', { exact: true }).waitFor();
  // However long it is, only what is open is drawn.
  assert.ok((await page.locator('*').count()) < 3000);
  await tree.getByRole('button', { name: 'Collapse' }).click();
  assert.equal(await tree.getByRole('listitem').count(), 30);
  await tree.getByRole('button', { name: 'Expand' }).click();
  await tree.getByRole('button', { name: '100 … 199' }).waitFor();
  assert.ok((await page.locator('*').count()) < 20_000);
});
