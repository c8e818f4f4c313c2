import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { choose, ended, send, visit } from './serving.js';

visit('a call is found, filled in and sent with the keyboard alone', async ({ page }) => {
  const { keyboard } = page;
  await page.getByRole('listbox', { name: 'Methods' }).waitFor();
  await keyboard.press('/');
  await keyboard.type('math/add');
  await keyboard.press('ArrowDown');
  await keyboard.press('Enter');
  const focused = () => page.evaluate(() => document.activeElement?.id ?? '');
  for (let presses = 0; (await focused()) !== 'param-a'; presses += 1) {
    assert.ok(presses < 12, 'the form is out of reach');
    await keyboard.press('Tab');
  }
  await keyboard.press('Control+A');
  await keyboard.type('20');
  await keyboard.press('Tab');
  await keyboard.press('Control+A');
  await keyboard.type('22');
  await keyboard.press('Control+Enter');
  await ended(page);
  assert.equal(await page.getByRole('region', { name: 'Result as JSON' }).innerText(), '42');
});

visit('lists and tabs are walked with the arrow keys', async ({ page }) => {
  const options = page.getByRole('listbox', { name: 'Methods' }).getByRole('option');
  await page.getByRole('searchbox').press('ArrowDown');
  const at = () => options.evaluateAll((all) => all.findIndex((option) => option === document.activeElement));
  assert.equal(await at(), 0);
  await page.keyboard.press('ArrowDown');
  assert.equal(await at(), 1);
  await page.keyboard.press('End');
  assert.equal(await at(), (await options.count()) - 1);
  await page.getByRole('tab', { name: 'Methods' }).focus();
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.getByRole('tab', { name: 'Lessons' }).getAttribute('aria-selected'), 'true');
});

visit('Ctrl and Enter send from the editor, once, without a new line', async ({ page }) => {
  await choose(page, 'math/add');
  let sent = 0;
  page.on('request', (request) => (sent += request.postData()?.includes('math/add') ? 1 : 0));
  const editor = page.getByRole('textbox', { name: 'Params as JSON' });
  const before = await editor.innerText();
  await editor.click();
  await page.keyboard.press('Control+Enter');
  await ended(page);
  assert.equal(sent, 1);
  assert.equal(await editor.innerText(), before);
});

visit('where the focus is can be seen', async ({ page }) => {
  await page.getByRole('listbox', { name: 'Methods' }).waitFor();
  for (let presses = 0; presses < 25; presses += 1) {
    await page.keyboard.press('Tab');
    const seen = await page.evaluate(() => {
      let element = document.activeElement;
      if (!element || element === document.body) return 'nothing';
      if (element.shadowRoot) element = element.closest('.editor-box');
      const looks = [element, element?.nextElementSibling].map((one) => (one ? getComputedStyle(one) : undefined));
      const isSeen = looks.some(
        (look) => look && ((look.outlineStyle !== 'none' && look.outlineWidth !== '0px') || look.boxShadow !== 'none'),
      );
      return isSeen ? 'seen' : element!.outerHTML.slice(0, 80);
    });
    assert.ok(['seen', 'nothing'].includes(seen), seen);
  }
});

/** The names of roles that can be used but have no name to be called by. */
export async function nameless(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send('Accessibility.getFullAXTree');
  const isFocusable = (node: (typeof nodes)[number]) =>
    node.properties?.some(({ name, value }) => name === 'focusable' && value.value === true);
  const used = nodes.filter((node) => !node.ignored && isFocusable(node) && node.role?.value !== 'RootWebArea');
  // A dialog has a few.
  assert.ok(used.length > 3);
  // What scrolls inside of the editor can have the focus, but nobody gets there with a key.
  return used.filter((node) => !node.name?.value && node.role?.value !== 'generic').map((node) => String(node.role?.value));
}

/** Texts whose colour is too near to what is behind them: less than 4.5 to 1. */
export function faint(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const parse = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number);
    const light = (colour: number[]) => {
      const [r, g, b] = colour
        .slice(0, 3)
        .map((part) => (part / 255 <= 0.03928 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
    };
    const behind = (element: Element | null): number[] => {
      for (let at = element; at; at = at.parentElement) {
        const colour = parse(getComputedStyle(at).backgroundColor);
        if (colour.length === 3 || (colour[3] ?? 0) === 1) return colour;
      }
      return [255, 255, 255];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found: string[] = [];
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement!;
      if (
        !walker.currentNode.textContent?.trim() ||
        !element.checkVisibility() ||
        element.closest('.unseen, :disabled, option, script, style')
      )
        continue;
      const [front, back] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
      const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
      if (ratio < 4.5) found.push(`${ratio.toFixed(2)} ${element.className} ${walker.currentNode.textContent.slice(0, 30)}`);
    }
    return found;
  });
}

for (const colorScheme of ['light', 'dark'] as const) {
  visit(
    `everything has a name and can be read, in ${colorScheme} colours`,
    async ({ page }) => {
      const check = async (where: string) => {
        assert.deepEqual(await nameless(page), [], where);
        assert.deepEqual(await faint(page), [], where);
      };
      await choose(page, 'sum');
      await page.getByRole('button', { name: 'Add to batch' }).click();
      await check('request');
      await send(page);
      await check('result');
      for (const tab of ['Wire', 'Code']) {
        await page.getByRole('tab', { name: tab }).click();
        await check(tab);
      }
      await page.getByRole('tab', { name: 'Break rules' }).click();
      await page.getByText('Valid and invalid entries').click();
      await page.getByRole('button', { name: 'Send message' }).click();
      await page.getByRole('tab', { name: 'Result' }).click();
      await page.locator('.verdict').waitFor();
      await check('verdict');
      await page.getByRole('tab', { name: 'History' }).click();
      await check('history');
      await page.getByRole('button', { name: 'Headers' }).click();
      await page.getByRole('button', { name: 'Add header' }).click();
      await check('headers');
    },
    { colorScheme },
  );
}
