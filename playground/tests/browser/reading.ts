import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { faint, nameless } from './access.js';
import { choose, ended, sees, visit } from './serving.js';

/** Goes through the views for learners, and looks at each. */
async function walk(page: Page, look: (where: string) => Promise<void>): Promise<void> {
  const pane = async (name: string) => {
    const button = page.getByRole('navigation', { name: 'Panes' }).getByRole('button', { name });
    if (await button.isVisible()) await button.click();
  };
  await choose(page, 'count');
  await page.getByLabel('to integer').fill('500');
  await page.getByRole('radio', { name: 'Message', exact: true }).check();
  await look('message');
  await page.getByRole('textbox', { name: 'Message' }).click();
  await page.keyboard.press('Control+End');
  await page.keyboard.insertText(',');
  await sees(page, 'Not valid JSON');
  await look('remark');
  await page.getByRole('button', { name: 'Reset' }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await ended(page);
  await page.getByRole('radio', { name: 'Whole response' }).check();
  await page.getByRole('button', { name: /"result": 500 items/ }).waitFor();
  await look('tree');
  await page.getByRole('tab', { name: 'Diagram' }).click();
  await page.getByText('Show as text').click();
  await look('diagram');
  await pane('Choose');
  await page.getByRole('tab', { name: 'Lessons' }).click();
  await look('lessons');
  await page.getByRole('listbox', { name: 'Lessons' }).getByText('Ids and matching answers').click();
  await page.getByRole('button', { name: /^Step 3/ }).click();
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await sees(page, '✓ As expected');
  await look('lesson');
}

for (const colorScheme of ['light', 'dark'] as const) {
  visit(
    `messages, trees, diagrams and lessons have names and can be read, in ${colorScheme} colours`,
    async ({ page }) => {
      await walk(page, async (where) => {
        assert.deepEqual(await nameless(page), [], where);
        assert.deepEqual(await faint(page), [], where);
      });
    },
    { colorScheme },
  );
}

for (const [width, height] of [
  [390, 844],
  [768, 1024],
  [1024, 700],
] as const) {
  visit(
    `messages, trees, diagrams and lessons fit into ${width} pixels`,
    async ({ page }) => {
      await walk(page, async (where) => {
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, where);
        const wide = await page.evaluate(
          (most) =>
            [...document.querySelectorAll<HTMLElement>('body *')]
              .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > most + 1)
              .filter((element) => !element.closest('pre, .unseen, .items'))
              .map((element) => element.className || element.tagName),
          width,
        );
        assert.deepEqual(wide, [], where);
      });
    },
    { viewport: { width, height } },
  );
}
