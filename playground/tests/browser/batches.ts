import assert from 'node:assert/strict';
import { choose, ended, sees, visit } from './serving.js';

for (const transport of ['HTTP', 'WebSocket']) {
  visit(`calls are collected and sent as one batch over ${transport}`, async ({ page }) => {
    await page.getByLabel(transport, { exact: true }).check();
    await choose(page, 'math/add');
    await page.getByLabel('a number').fill('2');
    await page.getByLabel('b number').fill('3');
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('checkbox', { name: 'Notification' }).check();
    await page.getByRole('button', { name: 'Add to batch' }).click();
    await page.getByRole('checkbox', { name: 'Notification' }).uncheck();
    await choose(page, 'math/sqrt');
    await page.getByLabel('x number').fill('-1');
    await page.getByRole('button', { name: 'Add to batch' }).click();
    const tray = page.getByRole('region', { name: 'Batch', exact: true });
    assert.equal(await tray.getByRole('listitem').count(), 3);
    await tray.getByRole('button', { name: 'Send batch' }).click();
    await ended(page);
    const answers = page.getByRole('list', { name: 'Answers to the batch' });
    const texts = await answers.locator('> li').allInnerTexts();
    assert.equal(texts.length, 2);
    assert.match(texts[0]!, /math\/add[^]*5$/);
    assert.match(texts[1]!, /math\/sqrt[^]*-32001/);
    await sees(page, '1 of 2 failed');
  });
}

visit('a batch can be changed and cleared', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await page.getByRole('button', { name: 'Add to batch' }).click();
  await page.getByRole('button', { name: 'Remove math/add from the batch' }).first().click();
  assert.equal(await page.locator('.tray-list li').count(), 1);
  await page.getByRole('button', { name: 'Clear' }).click();
  assert.equal(await page.locator('.tray').count(), 0);
  await page.getByLabel('1.0', { exact: true }).check();
  assert.ok(await page.getByRole('button', { name: 'Add to batch' }).isDisabled());
});
