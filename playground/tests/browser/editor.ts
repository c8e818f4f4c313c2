import assert from 'node:assert/strict';
import { choose, editor, sees, visit, write } from './serving.js';

visit('form and editor show the same params', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('7');
  await page.waitForFunction(() => document.querySelector('.editor')?.shadowRoot?.textContent?.includes('"a": 7'));
  await write(page, '{"a": 1, "b": 99}');
  assert.equal(await page.getByLabel('b number').inputValue(), '99');
  await write(page, '[5, 6]');
  assert.equal(await page.getByLabel('a number').inputValue(), '5');
});

visit('the editor completes names and values from the schema', async ({ page }) => {
  await choose(page, 'ticks');
  await write(page, '{ ');
  await page.keyboard.press('Control+Space');
  const options = page.getByRole('listbox', { name: 'Completions' });
  await options.getByText('"count"').waitFor();
  await options.getByText('"seconds"').click();
  await page.waitForFunction(() => /"seconds": 1/.test(document.querySelector('.editor')?.shadowRoot?.textContent ?? ''));
});

visit('what the schema does not allow is told while it is typed', async ({ page }) => {
  await choose(page, 'math/add');
  const problems = page.getByRole('list', { name: 'Problems' });
  await write(page, '{"a": "two"}');
  await sees(page, 'must be a number');
  assert.deepEqual(await problems.getByRole('listitem').allInnerTexts(), ['"b" is missing', 'must be a number']);
  await write(page, '{"a": 1,');
  assert.deepEqual(await problems.getByRole('listitem').allInnerTexts(), ['a name in double quotes is missing']);
  await page.getByLabel('a number').fill('2');
  await page.getByLabel('b number').fill('x');
  assert.deepEqual(await problems.getByRole('listitem').allInnerTexts(), ['must be a number']);
  await page.getByLabel('b number').fill('3');
  assert.equal(await problems.getByRole('listitem').count(), 0);
});

visit('the mark in the editor stands where the mistake is', async ({ page }) => {
  await choose(page, 'math/add');
  await write(page, '{"a": 1, "b": "x"}');
  await page.locator('.cm-lintRange-error').waitFor();
  assert.equal(await page.locator('.cm-lintRange-error').innerText(), '"x"');
});

visit('lists are filled in item by item', async ({ page }) => {
  await choose(page, 'sum');
  const items = page.getByRole('group').locator('input');
  const before = await items.count();
  await page.getByRole('button', { name: 'Add item' }).click();
  assert.equal(await items.count(), before + 1);
  await items.last().fill('10');
  await page.getByRole('button', { name: 'Remove item 1' }).click();
  assert.equal(await items.count(), before);
  assert.match(await editor(page).innerText(), /10/);
});
