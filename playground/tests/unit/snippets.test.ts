import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { command } from '../../src/snippets/command.js';
import { curl } from '../../src/snippets/curl.js';
import { javascript } from '../../src/snippets/javascript.js';
import { python } from '../../src/snippets/python.js';
import { rust } from '../../src/snippets/rust.js';
import { type Plan, secretOf } from '../../src/snippets/snippet.js';

const call = { method: 'math/add', params: '{"a":2,"b":3}', isNotification: false, isStream: false, pushes: false };
const plan: Plan = {
  url: 'http://127.0.0.1:8000/',
  transport: 'http',
  version: '2.0',
  headers: [],
  body: '{"jsonrpc":"2.0","method":"math/add","params":{"a":2,"b":3},"id":1}',
  calls: [call],
};
const secret: Plan = {
  ...plan,
  version: '1.0',
  headers: [
    { name: 'Authorization', value: 'Bearer s3cret', secret: secretOf('Authorization', 'Bearer s3cret') },
    { name: 'X-Trace', value: 'seven', secret: undefined },
  ],
  calls: [{ ...call, params: '[2,3]' }],
};

const watching: Plan = {
  ...plan,
  url: 'ws://127.0.0.1:8000/',
  transport: 'ws',
  calls: [{ method: 'watch', params: '{"seconds":1}', isNotification: false, isStream: false, pushes: true }],
};

/** What is compiled with the facade, in `crates/switchboard/tests/snippets.rs`. */
const RUST: Readonly<Record<string, Plan>> = {
  call: plan,
  notification: { ...plan, calls: [{ ...call, params: '', isNotification: true }] },
  stream: {
    ...plan,
    url: 'ws://127.0.0.1:8000/',
    transport: 'ws',
    calls: [{ method: 'count', params: '{"to":3}', isNotification: false, isStream: true, pushes: false }],
  },
  batch: { ...plan, calls: [call, { method: 'say "hi"', params: '["\\"#"]', isNotification: true, isStream: false, pushes: false }] },
  headers: secret,
  pushes: watching,
};

test('the Rust that is compiled is the Rust that is written', async () => {
  for (const [name, plan] of Object.entries(RUST)) {
    const file = `../crates/switchboard/tests/snippets/${name}.rs`;
    const text = rust(plan);
    // To write them anew: WRITE=1 npm run unit
    if (process.env.WRITE) await writeFile(file, text);
    assert.equal(await readFile(file, 'utf8'), text, name);
  }
});

test('no language writes a secret down', () => {
  for (const write of [curl, command, python, javascript, rust]) {
    const text = write(secret);
    assert.ok(!text.includes('s3cret') && text.includes('TOKEN') && text.includes('seven'), text);
  }
  assert.deepEqual(secretOf('X-Api-Key', 'k'), { variable: 'X_API_KEY', prefix: '' });
});

test('a WebSocket takes a login as a subprotocol', () => {
  const socket = (name: string, value: string) =>
    javascript({ ...watching, headers: [{ name, value, secret: secretOf(name, value) }] }).split('\n')[1];
  const opened = (variable: string) =>
    `const socket = new WebSocket('ws://127.0.0.1:8000/', ['jsonrpc', 'bearer.' + process.env.${variable}]);`;
  assert.equal(socket('Authorization', 'Bearer s3cret'), opened('TOKEN'));
  assert.equal(socket('X-API-Key', 's3cret'), opened('X_API_KEY'));
  assert.equal(socket('X-Secret', 's3cret'), `const socket = new WebSocket('ws://127.0.0.1:8000/');`);
});

test('the command fits the kind of call', () => {
  const check = (changed: Partial<Plan>, expected: string) => assert.equal(command({ ...plan, ...changed }), `${expected}\n`);
  check({}, `switchboard call http://127.0.0.1:8000/ math/add '{"a":2,"b":3}'`);
  check({ version: '1.0', calls: [{ ...call, params: '' }] }, 'switchboard call http://127.0.0.1:8000/ math/add --v1');
  check(
    { calls: [{ ...call, params: '["it\'s"]', isNotification: true }] },
    `switchboard notify http://127.0.0.1:8000/ math/add '["it'\\''s"]'`,
  );
  const stream = { calls: [{ ...call, params: '', isStream: true }] };
  check({ ...stream, transport: 'sse' }, 'switchboard watch http://127.0.0.1:8000/ math/add');
  check(stream, 'switchboard call http://127.0.0.1:8000/ math/add');
  assert.equal(command(watching), `switchboard watch ws://127.0.0.1:8000/ watch '{"seconds":1}' --notifications\n`);
});

test('a text that is not a request is sent by those who can, and the others say so', () => {
  const raw: Plan = { ...plan, body: '[1, 2', calls: [] };
  for (const write of [curl, python, javascript]) assert.ok(write(raw).includes('[1, 2'));
  for (const write of [command, rust]) assert.match(write(raw), /valid requests only.*use curl or JavaScript/);
});
