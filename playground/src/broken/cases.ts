/** Messages that break a rule, and some that are odd but legal; each says what a server must make of it. */

import type { Expectation } from './expectation.js';

export interface Case {
  readonly key: string;
  readonly title: string;
  /** It breaks no rule, but servers get it wrong. */
  readonly isLegal?: true;
  /** The rules, as `docs` and tests name them. */
  readonly rules: readonly string[];
  /** Whether the specification demands what is expected, or good servers agree on it. */
  readonly level: 'the specification' | 'good practice';
  readonly why: string;
  readonly text: string;
  readonly expected: Expectation;
  /** What is expected on a connection over which both sides may call, where that differs. */
  readonly expectedOnSocket?: Expectation;
}

const PARSE: Expectation = { kind: 'error', codes: [-32700], ids: ['null'] };

function invalid(...ids: string[]): Expectation {
  return { kind: 'error', codes: [-32600], ids };
}

/** All of them, the simplest first. */
export const CASES: readonly Case[] = [
  {
    key: 'not-json',
    title: 'Not JSON',
    rules: ['J2-32'],
    level: 'the specification',
    why: 'A quote is missing, so nothing in the text can be trusted, not even the id. The server returns a parse error with the id null.',
    text: '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
    expected: PARSE,
  },
  {
    key: 'empty',
    title: 'An empty message',
    rules: ['J2-52'],
    level: 'the specification',
    why: 'An empty message is not valid JSON, so the server returns a parse error.',
    text: '',
    expected: PARSE,
  },
  {
    key: 'trailing-comma',
    title: 'A trailing comma',
    rules: ['J2-55'],
    level: 'the specification',
    why: 'JavaScript allows a comma after the last member, JSON does not. A server that accepts it reads a private dialect of JSON.',
    text: '{"jsonrpc": "2.0", "method": "echo", "id": 1,}',
    expected: PARSE,
  },
  {
    key: 'two-texts',
    title: 'Two messages in one',
    rules: ['J2-53', 'J2-54'],
    level: 'the specification',
    why: 'A body or a WebSocket message holds one JSON text. To send several calls at once, use a batch.',
    text: '{"jsonrpc":"2.0","method":"echo","id":1}{"jsonrpc":"2.0","method":"echo","id":2}',
    expected: PARSE,
  },
  {
    key: 'lone-surrogate',
    title: 'Half a character',
    rules: ['J2-58'],
    level: 'good practice',
    why: '\\ud83d is the first half of a surrogate pair. On its own it is not a character and cannot be encoded as UTF-8.',
    text: '{"jsonrpc":"2.0","method":"echo","params":["\\ud83d"],"id":1}',
    expected: { kind: 'error', codes: [-32700, -32600] },
  },
  {
    key: 'no-method',
    title: 'No method',
    rules: ['J2-04'],
    level: 'the specification',
    why: 'Without a method there is nothing to call. The id can be read, so the server may return it.',
    text: '{"jsonrpc": "2.0", "id": 1}',
    expected: invalid('1', 'null'),
  },
  {
    key: 'method-number',
    title: 'A number as the method',
    rules: ['J2-04', 'J2-20'],
    level: 'the specification',
    why: 'It has no id, but that does not make it a notification: it is not a valid request, so the server answers it.',
    text: '{"jsonrpc": "2.0", "method": 1, "params": "bar"}',
    expected: invalid('null'),
  },
  {
    key: 'wrong-case',
    title: 'Method with a capital M',
    rules: ['J2-01', 'J2-03'],
    level: 'the specification',
    why: 'Member names are case-sensitive. This request has an unknown member and no method.',
    text: '{"jsonrpc": "2.0", "Method": "echo", "id": 1}',
    expected: invalid('1', 'null'),
  },
  {
    key: 'wrong-version',
    title: 'Version 2.1',
    rules: ['J2-02'],
    level: 'the specification',
    why: 'The version must be exactly the string "2.0". Any other value means a protocol that this server does not implement.',
    text: '{"jsonrpc": "2.1", "method": "echo", "params": [1], "id": 1}',
    expected: invalid('1', 'null'),
  },
  {
    key: 'id-object',
    title: 'An object as the id',
    rules: ['J2-13'],
    level: 'the specification',
    why: 'An id is a string, a number or null. The server does not return anything else.',
    text: '{"jsonrpc": "2.0", "method": "echo", "params": [1], "id": {"a": 1}}',
    expected: invalid('null'),
  },
  {
    key: 'params-number',
    title: 'A number as params',
    rules: ['J2-10'],
    level: 'the specification',
    why: 'Params are an array or an object. To pass a single value, use an array with one element.',
    text: '{"jsonrpc": "2.0", "method": "echo", "params": 7, "id": 1}',
    expected: { kind: 'error', codes: [-32600, -32602], ids: ['1', 'null'] },
  },
  {
    key: 'twice',
    title: 'Two methods in one request',
    rules: ['J2-64'],
    level: 'good practice',
    why: 'Some parsers keep the first of two members with the same name, most keep the last. If a proxy checks one and the server runs the other, access checks are bypassed. Both must refuse it.',
    text: '{"jsonrpc": "2.0", "method": "echo", "method": "admin/stop", "id": 1}',
    expected: { kind: 'error', codes: [-32600, -32700] },
  },
  {
    key: 'deep',
    title: 'Nested 1,000 levels deep',
    isLegal: true,
    rules: ['J2-65'],
    level: 'good practice',
    why: 'A parser that recurses on every level runs out of stack and crashes the process. Servers limit the depth to prevent that.',
    text: `{"jsonrpc":"2.0","method":"echo","params":${'['.repeat(1000)}${']'.repeat(1000)},"id":1}`,
    expected: { kind: 'error', codes: [-32600, -32700] },
  },
  {
    key: 'unknown',
    title: 'An unknown method',
    isLegal: true,
    rules: ['J2-34'],
    level: 'the specification',
    why: 'The request is valid, but no method has that name. The id comes back, so that the caller knows which call failed.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method", "id": "a"}',
    expected: { kind: 'error', codes: [-32601], ids: ['"a"'] },
  },
  {
    key: 'reserved',
    title: 'A reserved method name',
    isLegal: true,
    rules: ['J2-06'],
    level: 'the specification',
    why: 'Names that begin with rpc. are reserved for the protocol and its extensions. One that does not exist is an unknown method like any other.',
    text: '{"jsonrpc": "2.0", "method": "rpc.noSuchMethod", "id": 1}',
    expected: { kind: 'error', codes: [-32601], ids: ['1'] },
  },
  {
    key: 'silent-failure',
    title: 'A notification that fails',
    isLegal: true,
    rules: ['J2-17', 'J2-18'],
    level: 'the specification',
    why: 'A message without an id is a notification and is never answered, not even to say that the method does not exist.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method"}',
    expected: { kind: 'nothing' },
  },
  {
    key: 'id-null',
    title: 'The id null',
    isLegal: true,
    rules: ['J2-15'],
    level: 'the specification',
    why: 'In 2.0 this is an ordinary call, though discouraged, and its response has the id null. In 1.0 it would be a notification.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method", "id": null}',
    expected: { kind: 'answer', id: 'null' },
  },
  {
    key: 'id-large',
    title: 'An id with twenty digits',
    isLegal: true,
    rules: ['J2-28', 'J2-63'],
    level: 'the specification',
    why: 'The number does not fit into a 64-bit float. A server that rounds it answers a call that was never made.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method", "id": 12345678901234567890}',
    expected: { kind: 'answer', id: '12345678901234567890' },
  },
  {
    key: 'batch-empty',
    title: 'An empty batch',
    rules: ['J2-46'],
    level: 'the specification',
    why: 'A batch has at least one entry. The answer is a single error, not an array.',
    text: '[]',
    expected: invalid('null'),
  },
  {
    key: 'batch-junk',
    title: 'A batch of numbers',
    rules: ['J2-47'],
    level: 'the specification',
    why: 'Each entry gets its own response, so three invalid entries give an array of three errors.',
    text: '[1, 2, 3]',
    expected: { kind: 'errors', code: -32600, count: 3 },
  },
  {
    key: 'batch-nested',
    title: 'A batch inside a batch',
    rules: ['J2-49'],
    level: 'the specification',
    why: 'An array inside a batch is not a valid request, whatever it contains.',
    text: '[[{"jsonrpc": "2.0", "method": "echo", "id": 1}]]',
    expected: { kind: 'errors', code: -32600, count: 1 },
  },
  {
    key: 'batch-mixed',
    title: 'Valid and invalid entries',
    rules: ['J2-42', 'J2-48'],
    level: 'the specification',
    why: 'One invalid entry does not stop the server from answering the others. The notification among them gets no response.',
    text: '[{"jsonrpc":"2.0","method":"no/such/method","id":1}, 7, {"jsonrpc":"2.0","method":"no/such/method"}, {"jsonrpc":"2.0","method":"no/such/method","id":2}]',
    expected: { kind: 'answers', ids: ['1', 'null', '2'] },
  },
  {
    key: 'batch-silent',
    title: 'A batch of notifications',
    isLegal: true,
    rules: ['J2-44'],
    level: 'the specification',
    why: 'There is nothing to answer, so the server sends nothing, not even an empty array.',
    text: '[{"jsonrpc":"2.0","method":"no/such/method"}, {"jsonrpc":"2.0","method":"no/such/method"}]',
    expected: { kind: 'nothing' },
  },
  {
    key: 'stray-response',
    title: 'A response to no call',
    rules: ['J2-50'],
    level: 'good practice',
    why: 'The server made no call, so there is nothing to respond to. Over a WebSocket both sides may call, so there the server treats it as a late response and drops it.',
    text: '{"jsonrpc": "2.0", "result": 5, "id": 99}',
    expected: { kind: 'error', codes: [-32600] },
    expectedOnSocket: { kind: 'nothing' },
  },
  {
    key: 'v1-named',
    title: '1.0 with named params',
    rules: ['J1-03'],
    level: 'the specification',
    why: 'Without "jsonrpc" this is a message of version 1.0, in which params are always an array.',
    text: '{"method": "echo", "params": {"message": 1}, "id": 1}',
    expected: { kind: 'error', codes: [-32600, -32602], ids: ['1', 'null'] },
  },
  {
    key: 'v1-null',
    title: '1.0 with the id null',
    isLegal: true,
    rules: ['J1-11'],
    level: 'the specification',
    why: 'In 1.0 this is a notification, so the server does not answer it.',
    text: '{"method": "no/such/method", "params": [], "id": null}',
    expected: { kind: 'nothing' },
  },
];
