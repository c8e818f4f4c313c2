import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { choose, ended, sees, send, visit } from './serving.js';

/** The rows of the diagram as text, without their times. */
async function rows(page: Page): Promise<string[]> {
  const all = await page.locator('.seq-text li').allTextContents();
  return all.map((row) => row.replace(/^[\d.]+ m?s[,:] /, ''));
}

async function converse(page: Page): Promise<void> {
  await choose(page, 'math/add');
  await send(page);
  await page.getByLabel('SSE', { exact: true }).check();
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('2');
  await send(page);
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('1');
  await send(page);
  await page.getByRole('tab', { name: 'Diagram' }).click();
}

visit('a conversation is drawn with calls, streams and their items', async ({ page }) => {
  await converse(page);
  const all = (await rows(page)).map((row) => row.replace(/"[0-9a-f]{8,}"/, 'S'));
  assert.deepEqual(all, [
    'sent: call math/add {"a":2,"b":3}, id 1',
    'received: result 5, id 1',
    'sent: call count {"to":2}, id 2',
    'received: item 1, id 2',
    'received: item 2, id 2',
    'sent: call count {"to":1}, id 3',
    'received: stream opened S, id 3',
    'received: item 1 of stream S',
    'received: end stream S',
  ]);
  assert.equal(await page.locator('.seq-line').count(), all.length);
  await page.getByRole('radio', { name: 'This request' }).check();
  assert.equal(await page.locator('.seq-line').count(), 4);
});

visit('pushes are drawn as they come', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'watch');
  await page.getByLabel('seconds number').fill('0.01');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('tab', { name: 'Diagram' }).click();
  await page.locator('.seq').getByText('more like this').waitFor();
  await page.getByRole('button', { name: 'Disconnect' }).click();
  const all = await rows(page);
  assert.deepEqual(all.slice(0, 2), ['sent: call watch {"seconds":0.01}, id 1', 'received: result null, id 1']);
  // On a slow machine more may come than are kept; then that is said first.
  assert.match(all.slice(2, 4).join('\n'), /^(received: push onTick \[0\]\n|\d+ messages? not kept\nreceived: push onTick \[\d+\])/);
});

visit('a cancel and its answer are drawn', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'wait');
  await page.getByLabel('seconds number').fill('60');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('tab', { name: 'Diagram' }).click();
  await page.locator('.seq-call').waitFor();
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
  await page.getByRole('textbox', { name: 'Message' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": 1}}');
  await page.getByRole('button', { name: 'Notify', exact: true }).click();
  await page.locator('.seq-error').waitFor();
  assert.deepEqual(await rows(page), [
    'sent: call wait {"seconds":60}, id 1',
    'sent: cancel, id 1',
    'received: error -32800 Cancelled, id 1',
  ]);
});

visit('stopping a stream is drawn with its unsubscribe, and stopping a call with its cancel', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'ticks');
  await page.getByLabel('count integer').fill('2');
  await page.getByLabel('seconds number').fill('60');
  await page.getByRole('button', { name: 'Send' }).click();
  await sees(page, /^Live$/);
  await page.getByRole('tab', { name: 'Diagram' }).click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('.seq-result').nth(1).waitFor();
  await choose(page, 'wait');
  await page.getByLabel('seconds number').fill('60');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('.seq-call').nth(1).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('.seq-error').waitFor();
  const all = (await rows(page)).map((row) => row.replace(/"[0-9a-f]{8,}"/, 'S'));
  assert.deepEqual(all, [
    'sent: call ticks {"count":2,"seconds":60}, id 1',
    'received: stream opened S, id 1',
    'sent: unsubscribe [S], id "stop-1"',
    'received: result true, id "stop-1"',
    'sent: call wait {"seconds":60}, id 2',
    'sent: cancel, id 2',
    'received: error -32800 Cancelled, id 2',
  ]);
});

visit('a diagram is saved as a file that needs nothing else', async ({ page }) => {
  await converse(page);
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Save as SVG' }).click()]);
  assert.equal(download.suggestedFilename(), 'conversation.svg');
  const text = await readFile(await download.path(), 'utf8');
  assert.match(text, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  assert.doesNotMatch(text, /<script|href=|url\(|@import/);
  const grounds: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    // Opened as a document, outside of the page's policy.
    const frame = await page.context().newPage();
    await frame.emulateMedia({ colorScheme });
    await frame.goto(`data:image/svg+xml;base64,${Buffer.from(text).toString('base64')}`);
    grounds.push(await frame.locator('.seq-ground').evaluate((ground) => getComputedStyle(ground).fill));
    assert.equal(await frame.locator('.seq-line').count(), 9);
    assert.notEqual(await frame.locator('.seq-line').first().evaluate((line) => getComputedStyle(line).stroke), 'none');
    await frame.close();
  }
  assert.notEqual(grounds[0], grounds[1]);
});

visit('a stream of thousands keeps the diagram small', async ({ page }) => {
  await page.getByLabel('WebSocket', { exact: true }).check();
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('5000');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('tab', { name: 'Diagram' }).click();
  await ended(page);
  const all = await rows(page);
  assert.ok(all.length < 12, String(all.length));
  assert.ok(all.some((row) => /^\d[\d,]* messages not kept$/.test(row)), all.join('\n'));
  assert.ok(all.some((row) => /more like this/.test(row)), all.join('\n'));
});
