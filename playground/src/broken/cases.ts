/** Messages that break a rule, each with the rule in plain words. */

import type { Expectation } from './expectation.js';

export interface Case {
  readonly key: string;
  readonly title: string;
  /** The rules, as `docs` and tests name them. */
  readonly rules: readonly string[];
  /** Whether the specification demands it, or good servers agree on it. */
  readonly level: 'the specification' | 'good practice';
  readonly why: string;
  readonly text: string;
  readonly expected: Expectation;
  /** Where a connection on which both sides call is told apart. */
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
    why: 'A quote is missing, so nothing in it can be trusted, not even the identifier. The answer is a parse error with the identifier null.',
    text: '{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]',
    expected: PARSE,
  },
  {
    key: 'empty',
    title: 'Nothing at all',
    rules: ['J2-52'],
    level: 'the specification',
    why: 'An empty text is no JSON value.',
    text: '',
    expected: PARSE,
  },
  {
    key: 'trailing-comma',
    title: 'A comma too many',
    rules: ['J2-55'],
    level: 'the specification',
    why: 'JavaScript allows a comma at the end, JSON does not. A server that lets it pass reads a language of its own.',
    text: '{"jsonrpc": "2.0", "method": "echo", "id": 1,}',
    expected: PARSE,
  },
  {
    key: 'two-texts',
    title: 'Two messages in one',
    rules: ['J2-53', 'J2-54'],
    level: 'the specification',
    why: 'One body or frame holds one JSON text. Several calls go into a batch.',
    text: '{"jsonrpc":"2.0","method":"echo","id":1}{"jsonrpc":"2.0","method":"echo","id":2}',
    expected: PARSE,
  },
  {
    key: 'lone-surrogate',
    title: 'Half a character',
    rules: ['J2-58'],
    level: 'good practice',
    why: '\\ud83d is one half of a pair. Alone it is no character, and cannot be written in UTF-8.',
    text: '{"jsonrpc":"2.0","method":"echo","params":["\\ud83d"],"id":1}',
    expected: { kind: 'error', codes: [-32700, -32600] },
  },
  {
    key: 'no-method',
    title: 'No method',
    rules: ['J2-04'],
    level: 'the specification',
    why: 'Without a method there is nothing to call. The identifier can be read, so it may be given back.',
    text: '{"jsonrpc": "2.0", "id": 1}',
    expected: invalid('1', 'null'),
  },
  {
    key: 'method-number',
    title: 'A number as the method',
    rules: ['J2-04', 'J2-20'],
    level: 'the specification',
    why: 'It has no identifier, but it is no notification either, because it is no request at all. So it is answered.',
    text: '{"jsonrpc": "2.0", "method": 1, "params": "bar"}',
    expected: invalid('null'),
  },
  {
    key: 'wrong-case',
    title: 'Method with a capital M',
    rules: ['J2-01', 'J2-03'],
    level: 'the specification',
    why: 'Names are told apart by case. This request has a member that nobody knows, and no method.',
    text: '{"jsonrpc": "2.0", "Method": "echo", "id": 1}',
    expected: invalid('1', 'null'),
  },
  {
    key: 'wrong-version',
    title: 'Version 2.1',
    rules: ['J2-02'],
    level: 'the specification',
    why: 'The version is the string "2.0" and nothing else. Whoever sends another means a protocol that this server does not know.',
    text: '{"jsonrpc": "2.1", "method": "echo", "params": [1], "id": 1}',
    expected: invalid('1', 'null'),
  },
  {
    key: 'id-object',
    title: 'An object as identifier',
    rules: ['J2-13'],
    level: 'the specification',
    why: 'An identifier is a string, a number or null. What is none of these is not given back.',
    text: '{"jsonrpc": "2.0", "method": "echo", "params": [1], "id": {"a": 1}}',
    expected: invalid('null'),
  },
  {
    key: 'params-number',
    title: 'A number as params',
    rules: ['J2-10'],
    level: 'the specification',
    why: 'Params are a list or an object. A single value goes into a list of one.',
    text: '{"jsonrpc": "2.0", "method": "echo", "params": 7, "id": 1}',
    expected: { kind: 'error', codes: [-32600, -32602], ids: ['1', 'null'] },
  },
  {
    key: 'twice',
    title: 'Two methods in one request',
    rules: ['J2-64'],
    level: 'good practice',
    why: 'Some parsers keep the first, most the last. A proxy that checks one and a server that runs the other is how guards are passed, so both must refuse.',
    text: '{"jsonrpc": "2.0", "method": "echo", "method": "admin/stop", "id": 1}',
    expected: { kind: 'error', codes: [-32600, -32700] },
  },
  {
    key: 'deep',
    title: 'Nested 1,000 deep',
    rules: ['J2-65'],
    level: 'good practice',
    why: 'A parser that calls itself for every level runs out of stack and takes the process with it. A limit stops that.',
    text: `{"jsonrpc":"2.0","method":"echo","params":${'['.repeat(1000)}${']'.repeat(1000)},"id":1}`,
    expected: { kind: 'error', codes: [-32600, -32700] },
  },
  {
    key: 'unknown',
    title: 'A method that does not exist',
    rules: ['J2-34'],
    level: 'the specification',
    why: 'The request is good; only there is nobody by that name. The identifier comes back, so the caller knows which call failed.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method", "id": "a"}',
    expected: { kind: 'error', codes: [-32601], ids: ['"a"'] },
  },
  {
    key: 'reserved',
    title: 'A reserved name',
    rules: ['J2-06'],
    level: 'the specification',
    why: 'Names that begin with rpc. belong to the protocol and its extensions. One that does not exist is an unknown method like any other.',
    text: '{"jsonrpc": "2.0", "method": "rpc.nobody", "id": 1}',
    expected: { kind: 'error', codes: [-32601], ids: ['1'] },
  },
  {
    key: 'silent-failure',
    title: 'A notification that fails',
    rules: ['J2-17', 'J2-18'],
    level: 'the specification',
    why: 'Without an identifier nobody waits for an answer, so none is sent: not even to say that the method does not exist.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method"}',
    expected: { kind: 'nothing' },
  },
  {
    key: 'id-null',
    title: 'The identifier null',
    rules: ['J2-15'],
    level: 'the specification',
    why: 'In 2.0 this is a call, though a strange one, and its answer has the identifier null. In 1.0 it would be a notification.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method", "id": null}',
    expected: { kind: 'answer', id: 'null' },
  },
  {
    key: 'id-large',
    title: 'An identifier of twenty digits',
    rules: ['J2-28', 'J2-63'],
    level: 'the specification',
    why: 'It does not fit into a 64-bit float. A server that reads it as one answers a call that nobody made.',
    text: '{"jsonrpc": "2.0", "method": "no/such/method", "id": 12345678901234567890}',
    expected: { kind: 'answer', id: '12345678901234567890' },
  },
  {
    key: 'batch-empty',
    title: 'An empty batch',
    rules: ['J2-46'],
    level: 'the specification',
    why: 'A batch holds at least one entry. The answer is one error, not a list.',
    text: '[]',
    expected: invalid('null'),
  },
  {
    key: 'batch-junk',
    title: 'A batch of numbers',
    rules: ['J2-47'],
    level: 'the specification',
    why: 'Each entry is answered for itself, so three that are no requests give a list of three errors.',
    text: '[1, 2, 3]',
    expected: { kind: 'errors', code: -32600, count: 3 },
  },
  {
    key: 'batch-nested',
    title: 'A batch in a batch',
    rules: ['J2-49'],
    level: 'the specification',
    why: 'A list inside of a batch is no request, whatever it holds.',
    text: '[[{"jsonrpc": "2.0", "method": "echo", "id": 1}]]',
    expected: { kind: 'errors', code: -32600, count: 1 },
  },
  {
    key: 'batch-mixed',
    title: 'Good beside bad',
    rules: ['J2-42', 'J2-48'],
    level: 'the specification',
    why: 'What is wrong with one entry is no reason to leave the others unanswered. The notification among them gets none.',
    text: '[{"jsonrpc":"2.0","method":"no/such/method","id":1}, 7, {"jsonrpc":"2.0","method":"no/such/method"}, {"jsonrpc":"2.0","method":"no/such/method","id":2}]',
    expected: { kind: 'answers', ids: ['1', 'null', '2'] },
  },
  {
    key: 'batch-silent',
    title: 'A batch of notifications',
    rules: ['J2-44'],
    level: 'the specification',
    why: 'There is nothing to answer, so nothing is sent: no empty list.',
    text: '[{"jsonrpc":"2.0","method":"no/such/method"}, {"jsonrpc":"2.0","method":"no/such/method"}]',
    expected: { kind: 'nothing' },
  },
  {
    key: 'stray-response',
    title: 'An answer to no question',
    rules: ['J2-50'],
    level: 'good practice',
    why: 'A server that never called has nothing to be answered. Over a WebSocket both sides may call, so there it is taken for a late answer and dropped.',
    text: '{"jsonrpc": "2.0", "result": 5, "id": 99}',
    expected: { kind: 'error', codes: [-32600] },
    expectedOnSocket: { kind: 'nothing' },
  },
  {
    key: 'v1-named',
    title: '1.0 with named params',
    rules: ['J1-03'],
    level: 'the specification',
    why: 'Without "jsonrpc" it is a message of 1.0, which knows params as a list only.',
    text: '{"method": "echo", "params": {"message": 1}, "id": 1}',
    expected: { kind: 'error', codes: [-32600, -32602], ids: ['1', 'null'] },
  },
  {
    key: 'v1-null',
    title: '1.0 with the identifier null',
    rules: ['J1-11'],
    level: 'the specification',
    why: 'In 1.0 this is how a notification is written, and nobody answers it.',
    text: '{"method": "no/such/method", "params": [], "id": null}',
    expected: { kind: 'nothing' },
  },
];
