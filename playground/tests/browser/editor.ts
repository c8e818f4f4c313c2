import assert from 'node:assert/strict';
import { choose, editor, sees, send, visit, write } from './serving.js';

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

visit('values that the schema does not allow are reported while they are typed', async ({ page }) => {
  await choose(page, 'math/add');
  const problems = page.getByRole('list', { name: 'Problems' });
  await write(page, '{"a": "two"}');
  await sees(page, 'must be a number');
  assert.deepEqual(await problems.getByRole('listitem').allInnerTexts(), ['"b" is missing', 'a: must be a number']);
  await write(page, '{"a": 1,');
  assert.deepEqual(await problems.getByRole('listitem').allInnerTexts(), ['expected a name in double quotes']);
  await page.getByLabel('a number').fill('2');
  await page.getByLabel('b number').fill('x');
  assert.deepEqual(await problems.getByRole('listitem').allInnerTexts(), ['b: must be a number']);
  await page.getByLabel('b number').fill('3');
  assert.equal(await problems.getByRole('listitem').count(), 0);
});

visit('the editor marks the value that is wrong', async ({ page }) => {
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

visit('a problem is shown at the field it is about', async ({ page }) => {
  await choose(page, 'math/add');
  await write(page, '{"a": "two"}');
  const [a, b] = [page.getByLabel('a number'), page.getByLabel('b number')];
  assert.equal(await page.locator('.field', { has: a }).locator('.field-problem').innerText(), 'must be a number');
  assert.equal(await page.locator('.field', { has: b }).locator('.field-problem').innerText(), '"b" is missing');
  assert.equal(await a.getAttribute('aria-invalid'), 'true');
  assert.equal(await a.getAttribute('aria-describedby'), 'param-a-problem');
  await write(page, '["two", 3]');
  assert.equal(await page.locator('.field', { has: a }).locator('.field-problem').innerText(), 'must be a number');
  await write(page, '[2, 3]');
  assert.equal(await page.locator('.field-problem').count(), 0);
});

visit('params that the server refuses are marked at their field until they change', async ({ page, url }) => {
  await page.route(url, (route) => {
    const isCall = route.request().postData()?.includes('math/add') === true;
    const error = '{"code":-32602,"message":"Invalid params","data":{"path":"/b","expected":"an even number"}}';
    return isCall
      ? route.fulfill({ contentType: 'application/json', body: `{"jsonrpc":"2.0","error":${error},"id":1}` })
      : route.continue();
  });
  await choose(page, 'math/add');
  await send(page);
  const b = page.getByLabel('b number');
  const problem = page.locator('.field', { has: b }).locator('.field-problem');
  assert.equal(await problem.innerText(), 'the server expected an even number');
  assert.equal(await page.locator('.cm-lintRange-error').innerText(), await b.inputValue());
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
  await page.getByRole('list', { name: 'Remarks' }).getByText('b: the server expected an even number').waitFor();
  await page.getByRole('radio', { name: 'Params', exact: true }).check();
  await b.fill('4');
  assert.equal(await problem.count(), 0);
});

visit('a value that is one of a few is chosen from a list, with what each means', async ({ page }) => {
  await choose(page, 'demo/error');
  const kind = page.getByLabel('kind one of 4');
  assert.match((await kind.getByRole('option').allInnerTexts()).join('\n'), /^timeout – The call timed out \(-32003\)\.$/m);
  await kind.selectOption('"timeout"');
  assert.match(await editor(page).innerText(), /"kind": "timeout"/);
  await write(page, '{"kind": "no"}');
  assert.match(await page.locator('.field-problem').innerText(), /^must be one of "invalid_data", "unauthorized"/);
});
