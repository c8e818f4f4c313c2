import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainSocket, explainUnfit } from '../../src/rpc/failure.js';
import { proofName, readIdentity, readWho } from '../../src/rpc/identity.js';
import { loginHeader, loginProtocols, readSecret, unfitForSocket } from '../../src/rpc/login.js';
import { readMessage } from '../../src/rpc/message.js';

test('a credential is found in what was pasted', () => {
  const check = (typed: string, secret: string) => assert.deepEqual(readSecret(typed, 'token'), { secret });
  check('  abc.def\n', 'abc.def');
  check('Bearer abc', 'abc');
  check('authorization: bearer abc', 'abc');
  check('X-API-Key: sb_1_2', 'sb_1_2');
  check('bearerless', 'bearerless');
});

test('a text that cannot be a credential is refused with a reason', () => {
  const check = (typed: string, problem: string) => assert.deepEqual(readSecret(typed, 'key'), { problem });
  check(' ', 'Enter your API key.');
  check('a b', 'The API key contains a space or a line break. Copy it again.');
  check('a•b', 'The API key contains the character “•”. Copy it again.');
});

test('tokens and keys have their own headers, and the same subprotocol', () => {
  assert.deepEqual(loginHeader({ kind: 'token', secret: 't' }), { name: 'Authorization', value: 'Bearer t' });
  assert.deepEqual(loginHeader({ kind: 'key', secret: 'k' }), { name: 'X-API-Key', value: 'k' });
  assert.deepEqual(loginProtocols({ kind: 'token', secret: 't' }), ['jsonrpc', 'bearer.t']);
  assert.deepEqual(loginProtocols({ kind: 'key', secret: 'k' }), ['jsonrpc', 'bearer.k']);
  assert.deepEqual(loginProtocols(undefined), []);
});

test('a credential that a subprotocol cannot contain is found', () => {
  const check = (secret: string, expected: string | undefined) => assert.equal(unfitForSocket({ kind: 'token', secret }), expected);
  check('eyJhbGciOiJFZERTQSJ9.e30.c2ln-_', undefined);
  check('sb_4fJ0aQ2k_9b74c989', undefined);
  check('ab+cd/ef==', '/');
  check('abcd==', '=');
  assert.equal(unfitForSocket(undefined), undefined);
  assert.match(explainUnfit('=').advice[0]!, /cannot contain “=”/);
});

test('the answer to rpc.whoami is read, whatever it is', () => {
  const state = (status: number, text: string) => {
    const frames = [{ text, bytes: 0, at: 0, message: readMessage(text) }];
    return readWho({ failure: undefined, frames, http: { status, reason: '', headers: [] } });
  };
  const result = (value: string) => `{"jsonrpc":"2.0","result":${value},"id":1}`;
  const error = (code: number, data = 'null') => `{"jsonrpc":"2.0","error":{"code":${code},"message":"m","data":${data}},"id":null}`;
  assert.deepEqual(state(200, result('null')), { state: 'anonymous' });
  assert.deepEqual(state(401, error(-32002)), { state: 'refused' });
  assert.deepEqual(state(429, error(-32005, '{"retryAfterMs":30100}')), { state: 'blocked', seconds: 31 });
  assert.deepEqual(state(429, error(-32005)), { state: 'blocked', seconds: undefined });
  assert.deepEqual(state(200, error(-32601)), { state: 'silent' });
  assert.deepEqual(state(200, result('{"user":"x"}')), { state: 'silent' });
  assert.deepEqual(state(200, '<html>'), { state: 'silent' });
  const failure = { title: 't', advice: [] };
  assert.deepEqual(readWho({ failure, frames: [], http: undefined }), { state: 'failed', failure });
  assert.equal(state(200, result('{"subject":"alice"}')).state, 'known');
});

test('an identity is read member by member', () => {
  const alice = { subject: 'alice', proof: 'api-key', roles: ['ops', 7], scopes: ['read'], expires: 1_800_000_000 };
  assert.deepEqual(readIdentity(alice), {
    subject: 'alice',
    proof: 'api-key',
    agent: undefined,
    roles: ['ops'],
    scopes: ['read'],
    expires: new Date('2027-01-15T08:00:00Z'),
  });
  assert.deepEqual(readIdentity({ subject: 's', roles: 'none', expires: 'never' })?.roles, []);
  assert.equal(readIdentity('alice'), undefined);
  assert.equal(proofName('api-key'), 'API key');
  assert.equal(proofName('retina'), 'retina');
});

test('a WebSocket that was refused because of its caller offers to log in', () => {
  const locked = { url: 'ws://h/', origin: 'http://h', probe: 'a locked server' as const };
  const stranger = explainSocket({ ...locked, isLoggedIn: false });
  assert.deepEqual([stranger.title, stranger.isLocked], ['The server requires credentials', true]);
  const refused = explainSocket({ ...locked, isLoggedIn: true });
  assert.deepEqual([refused.title, refused.isLocked], ['The server does not accept your login', true]);
  const open = explainSocket({ ...locked, probe: 'a server', isLoggedIn: true });
  assert.ok(!open.isLocked && open.advice.some((line) => line.includes('must choose “jsonrpc”')));
});
