import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { LESSONS } from '../../src/lessons/lessons.js';
import { sees, visit } from './serving.js';

async function open(page: Page, title: string): Promise<void> {
  await page.getByRole('tab', { name: 'Lessons' }).click();
  await page.getByRole('listbox', { name: 'Lessons' }).getByText(title, { exact: true }).click();
}

for (const { title, steps } of LESSONS) {
  visit(`the lesson "${title}" can be taken against a real server`, async ({ page }) => {
    await open(page, title);
    for (const [at, step] of steps.entries()) {
      await sees(page, `Step ${at + 1} of ${steps.length}: ${step.title}`);
      await page.getByRole('button', { name: 'Send', exact: true }).click();
      await sees(page, '✓ As expected');
      if (at < steps.length - 1) await page.getByRole('button', { name: 'Next step' }).click();
    }
    await page.getByRole('option', { name: title }).getByText('✓ done').waitFor();
  });
}

visit('a changed message is judged by its real answer, and can be brought back', async ({ page }) => {
  await open(page, 'Calls and params');
  await page.getByRole('textbox', { name: 'Message' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText('{"jsonrpc": "2.0", "method": "math/subtract", "params": [42, 22], "id": 1}');
  await page.keyboard.press('Control+Enter');
  await sees(page, 'Expected the result 19 with the id 1. The server sent the result 20 with the id 1.');
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sees(page, '✓ As expected');
});

visit('the answer to a step is marked as an earlier one in the next step', async ({ page }) => {
  await open(page, 'Calls and params');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sees(page, '✓ As expected');
  assert.equal(await page.locator('.stale-note').count(), 0);
  await page.getByRole('button', { name: 'Next step' }).click();
  await sees(page, 'Earlier answer: math/subtract');
});

visit('a lesson resumes where it was left', async ({ page }) => {
  await open(page, 'Batches');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sees(page, '✓ As expected');
  await page.reload();
  await open(page, 'Batches');
  await sees(page, 'Step 2 of 4: One bad entry');
  await page.getByRole('button', { name: 'Step 1: Three requests, two answers, done' }).click();
  await sees(page, 'Step 1 of 4');
});

visit('a missing method is reported before anything is sent', async ({ page, url }) => {
  await page.route(url, (route) => {
    const isAsked = route.request().postData()?.includes('rpc.discover') === true;
    const result = { openrpc: '1.3.2', info: { title: 'Other', version: '1' }, methods: [{ name: 'echo', params: [] }] };
    return isAsked ? route.fulfill({ json: { jsonrpc: '2.0', result, id: 1 } }) : route.continue();
  });
  await page.reload();
  await sees(page, 'echo');
  await open(page, 'Calls and params');
  await sees(page, 'so this step cannot run here');
  assert.ok(await page.getByRole('button', { name: 'Send', exact: true }).isDisabled());
  await open(page, 'Ids and matching answers');
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sees(page, '✓ As expected');
});
