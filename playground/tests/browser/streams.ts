import assert from 'node:assert/strict';
import { choose, ended, sees, visit } from './serving.js';

for (const transport of ['SSE', 'WebSocket']) {
  visit(`items of a stream arrive live over ${transport}, and it can be stopped`, async ({ page }) => {
    await page.getByLabel(transport, { exact: true }).check();
    await choose(page, 'ticks');
    await page.getByLabel('count integer').fill('100000');
    await page.getByLabel('seconds number').fill('0.02');
    await page.getByRole('button', { name: 'Send' }).click();
    const items = page.getByRole('list', { name: 'Items' }).getByRole('listitem');
    await items.nth(2).waitFor();
    assert.equal(await page.getByTestId('stream-state').innerText(), 'Live');
    assert.match(await items.nth(2).innerText(), /3$/);
    await page.getByRole('button', { name: 'Stop' }).click();
    await ended(page);
    assert.equal(await page.getByTestId('stream-state').innerText(), 'Stopped');
  });

  visit(`a stream over ${transport} ends`, async ({ page }) => {
    await page.getByLabel(transport, { exact: true }).check();
    await choose(page, 'count');
    await page.getByLabel('to integer').fill('3');
    await page.getByRole('button', { name: 'Send' }).click();
    await ended(page);
    await sees(page, 'The stream has ended');
    const items = await page.getByRole('list', { name: 'Items' }).locator('li.item code').allInnerTexts();
    assert.deepEqual(items, ['1', '2', '3']);
  });
}

visit('stopping a stream over WebSocket is seen on the wire, and is not an item of it', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'ticks');
  await page.getByLabel('count integer').fill('100000');
  await page.getByLabel('seconds number').fill('0.02');
  await page.getByRole('button', { name: 'Send' }).click();
  const items = page.getByRole('list', { name: 'Items' });
  await items.getByRole('listitem').nth(2).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(page);
  await page.getByRole('tab', { name: 'Wire' }).click();
  await page.getByRole('region', { name: /, sent$/ }).waitFor();
  assert.match(await page.getByRole('region', { name: /, sent$/ }).innerText(), /"method":"rpc\.unsubscribe".*"id":"stop-1"/);
  await page
    .getByRole('region', { name: /, received$/ })
    .getByText('"stop-1"')
    .waitFor();
  await page.getByRole('tab', { name: 'Result' }).click();
  const texts = await items.locator('code').allInnerTexts();
  assert.deepEqual(
    texts,
    texts.map((_, at) => String(at + 1)),
  );
  assert.equal(await page.getByRole('region', { name: 'Pushed by the server' }).getByRole('listitem').count(), 0);
});

visit('a call over WebSocket can be stopped while it is under way', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'wait');
  await page.getByLabel('seconds number').fill('60');
  await page.getByRole('button', { name: 'Send' }).click();
  await sees(page, /^connected$/);
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(page);
  await sees(page, 'Stopped before the server answered');
  await page.getByRole('tab', { name: 'Wire' }).click();
  assert.match(await page.getByRole('region', { name: /, sent$/ }).innerText(), /"method":"rpc\.cancel"/);
  await page
    .getByRole('region', { name: /, received$/ })
    .getByText('-32800')
    .waitFor();
});

visit('a plain call is answered over each transport', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('2');
  await page.getByLabel('b number').fill('3');
  for (const transport of ['HTTP', 'SSE', 'WebSocket']) {
    await page.getByLabel(transport, { exact: true }).check();
    await page.getByRole('button', { name: 'Send' }).click();
    await ended(page);
    assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '5', transport);
  }
});

visit('the events are shown as they came', async ({ page }) => {
  await page.getByLabel('SSE', { exact: true }).check();
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('2');
  await page.getByRole('button', { name: 'Send' }).click();
  await ended(page);
  await page.getByRole('tab', { name: 'Wire' }).click();
  const text = await page.getByRole('region', { name: 'Text of the response' }).innerText();
  assert.match(text, /data: \{"jsonrpc":"2\.0","result":1,"id":\d+\}\n\ndata: .*"result":2,"id":\d+\}\n\ndata: \[DONE\]/);
});

visit('pushes of the server arrive live', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'watch');
  await page.getByLabel('seconds number').fill('0.01');
  await page.getByRole('button', { name: 'Send' }).click();
  const pushes = page.getByRole('list', { name: 'Pushes' }).getByRole('listitem');
  await pushes.nth(2).waitFor();
  assert.match(await pushes.nth(1).innerText(), /onTick\s*\[\d+\]/);
  await sees(page, 'connected');
  await page.getByRole('button', { name: 'Disconnect' }).click();
  await sees(page, 'not connected');
});

visit('a method that answers in either way is asked for a stream', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'ai/generate');
  await page.getByRole('checkbox', { name: 'Stream' }).check();
  await page.getByRole('button', { name: 'Send' }).click();
  await ended(page);
  await sees(page, 'The stream has ended');
});
