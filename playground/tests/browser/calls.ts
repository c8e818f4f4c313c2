import assert from 'node:assert/strict';
import { choose, ended, logIn, sees, send, visit, write } from './serving.js';

visit('a method is searched, filled in by form and called', async ({ page }) => {
  await page.getByRole('searchbox', { name: 'Search methods' }).fill('adds two');
  await choose(page, 'math/add');
  await page.getByLabel('a number').fill('2');
  await page.getByLabel('b number').fill('40');
  await send(page);
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '42');
});

visit('the docs and the schema stand beside the form', async ({ page }) => {
  await choose(page, 'math/sqrt');
  await sees(page, 'Returns the square root of a number.');
  const row = page.getByRole('row', { name: /^x number/ });
  assert.match(await row.innerText(), /not negative/);
  await page.getByRole('row', { name: /-32001/ }).waitFor();
});

visit('a method that is a tool says so, and one that is kept out does not', async ({ page }) => {
  await choose(page, 'math/add');
  const badge = page.getByTitle(/^Clients of the Model Context Protocol call this method as the tool /);
  assert.equal(await badge.innerText(), 'tool math_add');
  await choose(page, 'admin/restartServer');
  await badge.waitFor({ state: 'detached' });
});

visit('request and response are shown as they went over the wire, with time and size', async ({ page, url }) => {
  await choose(page, 'math/add');
  await write(page, '[ 2,  3 ]');
  const [request] = await Promise.all([page.waitForRequest((request) => request.postData()?.includes('math/add') === true), send(page)]);
  await page.getByRole('tab', { name: 'Wire' }).click();
  const text = await page.getByRole('region', { name: 'Text of the request' }).innerText();
  assert.equal(text, request.postData());
  const { id } = JSON.parse(text) as { id: number };
  const answer = `{"jsonrpc":"2.0","result":5,"id":${id}}`;
  assert.equal(await page.getByRole('region', { name: 'Text of the response' }).innerText(), answer);
  const head = await page.getByRole('region', { name: 'Request headers' }).innerText();
  assert.match(head, new RegExp(`^POST /\nHost: ${new URL(url).host}\nContent-Type: application/json\n`));
  assert.match(await page.getByRole('region', { name: 'Response headers' }).innerText(), /^200 OK\n[^]*content-type: application\/json/);
  assert.match(await page.getByTestId('timing').innerText(), /^[\d.]+ ms$/);
  assert.equal(await page.getByTestId('size').innerText(), `↑ ${text.length} B ↓ ${answer.length} B`);
});

visit('numbers of any length go out and come back digit by digit', async ({ page }) => {
  await choose(page, 'echo');
  await page.getByLabel('message any').fill('[12345678901234567890, 1.50]');
  await send(page);
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '[12345678901234567890, 1.50]');
});

visit('an error is shown with its code, its meaning and its data', async ({ page }) => {
  await choose(page, 'math/sqrt');
  await page.getByLabel('x number').fill('-1');
  await send(page);
  const card = page.getByRole('region', { name: 'Error', exact: true });
  assert.match(await card.innerText(), /^-32001 [^]*the method does not accept their values\.[^]*negative/);
});

visit('a notification is sent and not answered', async ({ page }) => {
  await choose(page, 'echo');
  await page.getByRole('checkbox', { name: 'Notification' }).check();
  const [request] = await Promise.all([page.waitForRequest((request) => request.postData()?.includes('echo') === true), send(page)]);
  assert.ok(!request.postData()!.includes('"id"'));
  await sees(page, 'No answer');
  await sees(page, 'The HTTP status is 204.');
});

visit('1.0 is spoken when it is chosen', async ({ page }) => {
  await choose(page, 'math/add');
  await page.getByLabel('1.0', { exact: true }).check();
  const [request] = await Promise.all([page.waitForRequest((request) => request.postData()?.includes('math/add') === true), send(page)]);
  assert.match(request.postData()!, /^\{"method":"math\/add","params":\[\d+,\d+\],"id":\d+\}$/);
  await page.getByRole('tab', { name: 'Wire' }).click();
  assert.match(await page.getByRole('region', { name: 'Text of the response' }).innerText(), /^\{"result":\d+,"error":null,"id":\d+\}$/);
});

visit('headers and a token go along and are not shown', async ({ page }) => {
  await logIn(page, 's3cret');
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: 'Headers' }).click();
  await page.getByRole('button', { name: 'Add header' }).click();
  await page.getByLabel('Name of header 1').fill('X-Trace');
  await page.getByLabel('Value of header 1').fill('seven');
  await page.getByRole('button', { name: 'Done' }).click();
  await choose(page, 'math/add');
  const [request] = await Promise.all([page.waitForRequest((request) => request.postData()?.includes('math/add') === true), send(page)]);
  const headers = await request.allHeaders();
  assert.equal(headers.authorization, 'Bearer s3cret');
  assert.equal(headers['x-trace'], 'seven');
  await page.getByRole('tab', { name: 'Wire' }).click();
  const head = await page.getByRole('region', { name: 'Request headers' }).innerText();
  assert.match(head, /Authorization: ••••••\nX-Trace: seven/);
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  assert.ok(!kept.includes('s3cret') && !kept.includes('seven'), kept);
});

visit('headers are kept only if the user wants that, and for their server only', async ({ page }) => {
  await page.getByRole('button', { name: 'Headers' }).click();
  await page.getByRole('button', { name: 'Add header' }).click();
  await page.getByLabel('Name of header 1').fill('Cookie-Token');
  await page.getByLabel('Value of header 1').fill('s3cret');
  await page.getByLabel('Keep until this tab is closed').check();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Headers: 1 set' }).click();
  assert.equal(await page.getByLabel('Value of header 1').inputValue(), 's3cret');
  await page.getByRole('button', { name: 'Done' }).click();
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...localStorage }))).includes('s3cret'));
  await page.getByLabel('Endpoint').fill(`${await page.getByLabel('Endpoint').inputValue()}rpc`);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Headers', exact: true }).waitFor();
});

visit('a call under way can be stopped', async ({ page }) => {
  await choose(page, 'wait');
  await page.getByLabel('seconds number').fill('60');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await ended(page);
  await sees(page, 'Stopped before the server answered');
});

visit('a method that is not described is called by its name', async ({ page }) => {
  await page.getByLabel('Method', { exact: true }).fill('no/such/method');
  await send(page);
  await sees(page, 'The server has no method with this name.');
});

visit('an answer is dimmed when another method is chosen, and not when it is chosen again', async ({ page }) => {
  await choose(page, 'math/add');
  await send(page);
  const opacity = () => page.locator('#answer-panel').evaluate((panel) => getComputedStyle(panel).opacity);
  assert.equal(await opacity(), '1');
  await choose(page, 'math/sqrt');
  await sees(page, 'Earlier answer: math/add');
  assert.ok(Number(await opacity()) < 0.7);
  await choose(page, 'math/add');
  assert.equal(await opacity(), '1');
  await choose(page, 'math/sqrt');
  await send(page);
  assert.equal(await opacity(), '1');
});
