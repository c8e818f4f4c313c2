import assert from 'node:assert/strict';
import { CASES } from '../../src/broken/cases.js';
import { sees, visit } from './serving.js';

for (const transport of ['HTTP', 'WebSocket']) {
  visit(`every rule is broken over ${transport}, explained, and the server does right`, async ({ page }) => {
    await page.getByLabel(transport, { exact: true }).check();
    await page.getByRole('tab', { name: 'Break rules' }).click();
    for (const { title, why } of CASES) {
      await page.getByRole('listbox', { name: 'Rules to break' }).getByText(title, { exact: true }).click();
      await page.getByText(why, { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Send broken' }).click();
      const verdict = page.locator('.verdict');
      await verdict.waitFor();
      assert.match(await verdict.innerText(), /^The server did right/, title);
    }
  });
}

visit('a changed message is sent as it is, and not judged', async ({ page }) => {
  await page.getByRole('tab', { name: 'Break rules' }).click();
  await page.getByRole('listbox', { name: 'Rules to break' }).getByText('An empty batch').click();
  await page.getByRole('textbox', { name: 'Message as it is sent' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"jsonrpc": "2.0",');
  const [request] = await Promise.all([
    page.waitForRequest((request) => request.method() === 'POST'),
    page.getByRole('button', { name: 'Send broken' }).click(),
  ]);
  assert.equal(request.postData(), '{"jsonrpc": "2.0",');
  await sees(page, 'A changed message is sent, but not judged.');
  await sees(page, 'The text that was sent is not JSON.');
});
