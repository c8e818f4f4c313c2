import assert from 'node:assert/strict';
import { type IncomingMessage, type ServerResponse, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { FIXTURES, inspect } from './inspector.js';
import { sees, started, visit } from './serving.js';

const TOKEN = '5d0f1c7a42e94b6d';
const closing: (() => void)[] = [];
after(() => closing.forEach((close) => close()));

/** An MCP server that needs a token, and the authorization server that gives one to everybody. */
async function guarded(): Promise<string> {
  const { found: behind } = await started(['127.0.0.1:0'], /MCP at (\S+)/, FIXTURES);
  const server = createServer((asked, answer) => void serve(asked, answer, behind));
  closing.push(() => server.close().closeAllConnections());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function serve(asked: IncomingMessage, answer: ServerResponse, behind: string): Promise<void> {
  const origin = `http://${asked.headers.host}`;
  const { pathname, searchParams } = new URL(asked.url!, origin);
  const json = (status: number, value: unknown) => answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  switch (pathname) {
    case '/mcp': {
      const metadata = `${origin}/.well-known/oauth-protected-resource/mcp`;
      if (asked.headers.authorization !== `Bearer ${TOKEN}`) {
        return void answer.writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` }).end();
      }
      const { host } = new URL(behind);
      const forwarded = request(behind, { method: asked.method!, headers: { ...asked.headers, host } }, (response) => {
        answer.writeHead(response.statusCode!, response.headers);
        response.pipe(answer);
      });
      answer.on('close', () => forwarded.destroy());
      forwarded.on('error', () => answer.destroy());
      return void asked.pipe(forwarded);
    }
    case '/.well-known/oauth-protected-resource/mcp':
      return void json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] });
    case '/.well-known/oauth-authorization-server':
      return void json(200, {
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        registration_endpoint: `${origin}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      });
    case '/register': {
      const pieces: Buffer[] = [];
      for await (const piece of asked) pieces.push(piece as Buffer);
      return void json(201, { ...JSON.parse(String(Buffer.concat(pieces))), client_id: 'inspector' });
    }
    case '/authorize': {
      const back = new URL(searchParams.get('redirect_uri')!);
      for (const [name, value] of Object.entries({ code: 'c', state: searchParams.get('state')!, iss: origin })) back.searchParams.set(name, value);
      return void answer.writeHead(302, { location: back.href }).end();
    }
    case '/token':
      return void json(200, { access_token: TOKEN, token_type: 'Bearer', expires_in: 3600 });
    default:
      return void answer.writeHead(404).end();
  }
}

const from = async () => inspect(await guarded());

visit(
  'a server that needs a login shows where, and is connected to afterwards',
  async ({ page, url }) => {
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/\/authorize\?/).waitFor();
    const other = page.context().waitForEvent('page');
    await dialog.getByRole('link', { name: /^Log in at 127\.0\.0\.1/ }).click();
    await sees(await other, 'You are logged in.');
    await dialog.waitFor({ state: 'hidden' });
    await page.getByRole('status').getByText('mcp-conformance-server').waitFor();
    await page.getByRole('tab', { name: 'Messages' }).click();
    await page.getByLabel('List', { exact: true }).check();
    const seen = await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.ok(!seen.includes(TOKEN), 'the page never learns the token');
    assert.ok(url.includes('#'));
  },
  { from, hosts: 'any', complaints: /favicon|404/ },
);

visit(
  'a login can be cancelled',
  async ({ page }) => {
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('alert').getByText(/the login was cancelled/).waitFor();
  },
  { from },
);
