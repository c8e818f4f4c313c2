import assert from 'node:assert/strict';
import { CASES } from '../../src/broken/cases.js';
import { sees, visit } from './serving.js';

for (const transport of ['HTTP', 'WebSocket']) {
  visit(`every message is explained and answered as expected over ${transport}`, async ({ page }) => {
    await page.getByLabel(transport, { exact: true }).check();
    await page.getByRole('tab', { name: 'Break rules' }).click();
    for (const { title, why } of CASES) {
      await page.getByRole('listbox', { name: 'Rules to break' }).getByText(title, { exact: true }).click();
      await page.getByText(why, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Send message' }).click();
      const verdict = page.locator('.verdict');
      await verdict.waitFor();
      assert.match(await verdict.innerText(), /^Correct/, title);
    }
  });
}

visit('a changed message is sent as it is, and its answer is not checked', async ({ page }) => {
  await page.getByRole('tab', { name: 'Break rules' }).click();
  await page.getByRole('listbox', { name: 'Rules to break' }).getByText('An empty batch').click();
  await page.getByRole('textbox', { name: 'Message' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"jsonrpc": "2.0",');
  const [request] = await Promise.all([
    page.waitForRequest((request) => request.method() === 'POST'),
    page.getByRole('button', { name: 'Send message' }).click(),
  ]);
  assert.equal(request.postData(), '{"jsonrpc": "2.0",');
  await sees(page, 'You changed this message, so its answer is not checked.');
  await sees(page, 'The message is not valid JSON.');
});

visit('all messages are sent, ticked off and counted', async ({ page, url }) => {
  // One answer that is wrong, among the right ones.
  await page.route(url, (route) => {
    const isEmptyBatch = route.request().postData() === '[]';
    return isEmptyBatch ? route.fulfill({ contentType: 'application/json', body: '[]' }) : route.continue();
  });
  await page.getByRole('tab', { name: 'Break rules' }).click();
  await page.getByRole('button', { name: 'Send all' }).click();
  await sees(page, `${CASES.length - 1} of ${CASES.length} as expected`);
  const list = page.getByRole('listbox', { name: 'Rules to break' });
  assert.equal(await list.locator('.mark.right').count(), CASES.length - 1);
  const wrong = list.getByRole('option').filter({ hasText: 'not as expected' });
  assert.match(await wrong.innerText(), /^An empty batch/);
  await wrong.click();
  assert.match(await page.locator('.verdict').innerText(), /^Not as expected\s+The server returned an array\. Expected: an error -32600/);
  assert.equal(await page.evaluate(() => localStorage.getItem('switchboard.history')), null);
});
