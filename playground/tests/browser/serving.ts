/**
 * A server, a browser, and pages that are watched: whatever a page says against itself, asks of others or is refused fails its
 * test.
 *
 * `SWITCHBOARD` names the program to serve with, `CHROMIUM` the browser (`/usr/bin/chromium` without it).
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test as nodeTest } from 'node:test';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';

export const PROGRAM = process.env.SWITCHBOARD ?? '';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
/** Nothing in these tests takes that long; it only keeps a mistake from hanging them. */
const PATIENCE = 6_000;

const children: ChildProcess[] = [];
let browser: Promise<Browser> | undefined;
let own: Promise<string> | undefined;
let config: string | undefined;

after(async () => {
  await (await browser)?.close();
  for (const child of children) child.kill();
});

/** A server that runs. */
export interface Running {
  readonly url: string;
  /** The URL of its admin listener, if it has one. */
  readonly admin: string;
  /** Ends it, and returns when it has ended. */
  readonly stop: () => Promise<void>;
}

/** Starts a server with these options. */
export function start(...options: string[]): Promise<Running> {
  return run('serve', options);
}

/** Starts a gateway with these options. */
export function startGateway(...options: string[]): Promise<Running> {
  return run('gateway', options);
}

function run(command: string, options: readonly string[]): Promise<Running> {
  assert.ok(PROGRAM, 'set SWITCHBOARD to the program to serve with');
  const listen = options.includes('--listen') ? [] : ['--listen', 'http://127.0.0.1:0'];
  const child = spawn(PROGRAM, [command, ...listen, ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  const stop = () =>
    new Promise<void>((resolve) => {
      child.on('exit', () => resolve());
      child.kill();
    });
  return new Promise((resolve, reject) => {
    let said = '';
    child.stderr.on('data', (piece) => {
      said += String(piece);
      const url = /Listening on (\S+)/.exec(said)?.[1];
      const admin = /Admin on (\S+)/.exec(said)?.[1];
      if (url && (admin || !options.includes('--admin'))) resolve({ url: `${url}/`, admin: `${admin}/`, stop });
    });
    child.on('exit', () => reject(new Error(`the server ended: ${said}`)));
    child.on('error', reject);
  });
}

/** Runs a program until it prints this, or, without that, until it ends. */
export function started(options: readonly string[], until: RegExp, program?: string): Promise<{ found: string }>;
export function started(options: readonly string[], until: undefined, program?: string): Promise<{ said: string; code: number | null }>;
export function started(options: readonly string[], until: RegExp | undefined, program = PROGRAM): Promise<unknown> {
  // Tokens of logins are not kept where those of the user are.
  config ??= mkdtempSync(join(tmpdir(), 'config-'));
  const env = { ...process.env, XDG_CONFIG_HOME: config };
  const child = spawn(program, options, { stdio: ['ignore', 'pipe', 'pipe'], env });
  children.push(child);
  return new Promise((resolve, reject) => {
    let said = '';
    const hear = (piece: unknown) => {
      said += String(piece);
      const found = until?.exec(said)?.[1];
      if (found !== undefined) resolve({ found });
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.on('close', (code) => (until ? reject(new Error(`it ended: ${said}`)) : resolve({ said, code })));
    child.on('error', reject);
  });
}

/** Starts a server with these options; gives its URL. */
export async function serve(...options: string[]): Promise<string> {
  return (await start(...options)).url;
}

/** The server that all tests share. */
export function shared(): Promise<string> {
  return (own ??= serve());
}

export interface Visit {
  readonly page: Page;
  readonly url: string;
}

interface Wishes extends BrowserContextOptions {
  /** Whether the page may ask other hosts than its own. */
  readonly hosts?: 'any';
  /** What the browser may complain about. */
  readonly complaints?: RegExp;
  /** What follows the URL of the server. */
  readonly at?: string;
  /** Gives the URL of another server than the one that all tests share. */
  readonly from?: () => Promise<string>;
}

/** A test with a page of its own. */
export function visit(name: string, run: (visit: Visit) => Promise<void>, wishes: Wishes = {}): void {
  nodeTest(name, { timeout: 40_000 }, async () => {
    const { hosts, complaints, at = '', from = shared, ...options } = wishes;
    const url = await from();
    browser ??= chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: FLAGS });
    const context = await (
      await browser
    ).newContext({ viewport: { width: 1440, height: 900 }, permissions: ['clipboard-read', 'clipboard-write'], ...options });
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    const findings: string[] = [];
    page.on('console', (message) => {
      const text = message.text();
      if (['error', 'warning'].includes(message.type()) && !complaints?.test(text)) findings.push(text);
    });
    page.on('pageerror', (error) => findings.push(String(error)));
    await context.route(
      (asked) => hosts !== 'any' && asked.host !== new URL(url).host && asked.protocol.startsWith('http'),
      (route) => {
        findings.push(`asked for ${route.request().url()}`);
        return route.abort();
      },
    );
    try {
      await page.goto(url + at);
      await run({ page, url });
      assert.deepEqual(findings, []);
    } catch (error) {
      if (findings.length > 0) console.error(name, findings);
      throw error;
    } finally {
      await context.close();
    }
  });
}

/** Chooses a method in the list. */
export async function choose(page: Page, name: string): Promise<void> {
  await page.getByRole('listbox', { name: 'Methods' }).getByText(name, { exact: true }).click();
}

/** Sends, and waits until the answer is there. */
export async function send(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^(Send|Notify)$/ }).click();
  await ended(page);
}

/** Waits until all has come. */
export async function ended(page: Page): Promise<void> {
  await page.getByTestId('timing').filter({ hasText: /\d/ }).waitFor();
}

/** Waits until the text is there. */
export async function sees(page: Page, text: string | RegExp): Promise<void> {
  await page.getByText(text).first().waitFor();
}

/** Enters a credential, and waits until the server has answered. */
export async function logIn(page: Page, secret: string, kind: 'Token' | 'API key' = 'Token'): Promise<void> {
  const dialog = page.getByRole('dialog');
  if (!(await dialog.isVisible())) await page.getByRole('banner').getByRole('button', { name: /^Log(ged)? in/ }).click();
  await dialog.waitFor();
  const other = dialog.getByText('Use other credentials instead');
  if ((await other.isVisible()) && !(await dialog.locator('#credential').isVisible())) await other.click();
  await dialog.getByLabel(kind, { exact: true }).check();
  await dialog.getByLabel(`Your ${kind === 'Token' ? 'token' : kind}`).fill(secret);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await dialog.getByRole('button', { name: 'Done' }).or(dialog.locator('.field-problem:not(:empty)')).waitFor();
}

/** The editor of params. */
export function editor(page: Page) {
  return page.getByRole('textbox', { name: 'Params as JSON' });
}

/** Puts this text into the editor of params, as if it were pasted. */
export async function write(page: Page, text: string): Promise<void> {
  await editor(page).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.insertText(text);
}
