import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../../src/json/parse.js';
import { type Method, paramsSchema, readDocument } from '../../src/rpc/document.js';
import { readEndpoint, urlFor } from '../../src/rpc/endpoint.js';
import { EventReader } from '../../src/rpc/events.js';
import { type Probe, explain } from '../../src/rpc/failure.js';
import { compose, readMessage } from '../../src/rpc/message.js';
import { check } from '../../src/schema/check.js';
import { type Shared, fromFragment, toFragment } from '../../src/share.js';

test('a request holds what was typed, digit by digit', () => {
  const intent = { version: '2.0' as const, method: 'a"b', params: ' [ 12345678901234567890, 1.50 ] ', isNotification: false };
  assert.equal(compose(intent, '7'), '{"jsonrpc":"2.0","method":"a\\"b","params":[12345678901234567890,1.50],"id":7}');
  assert.equal(compose({ ...intent, params: '', isNotification: true }, '7'), '{"jsonrpc":"2.0","method":"a\\"b"}');
  assert.equal(compose({ ...intent, params: '', wantsStream: true }, '7'), '{"jsonrpc":"2.0","method":"a\\"b","stream":true,"id":7}');
});

// J1-01, J1-11
test('1.0 has a list and an identifier, which is null for a notification', () => {
  const intent = { version: '1.0' as const, method: 'm', params: '', isNotification: false };
  assert.equal(compose(intent, '7'), '{"method":"m","params":[],"id":7}');
  assert.equal(compose({ ...intent, isNotification: true }, '7'), '{"method":"m","params":[],"id":null}');
});

test('messages are told apart by their members', () => {
  const kinds = (text: string) => readMessage(text).kind;
  assert.equal(kinds('{"jsonrpc":"2.0","result":null,"id":1}'), 'response');
  assert.equal(kinds('{"result":null,"error":{"code":1,"message":"m"},"id":1}'), 'response');
  assert.equal(kinds('{"method":"m"}'), 'call');
  assert.equal(kinds('[{"method":"m"}]'), 'batch');
  assert.equal(kinds('<html>'), 'other');
  const large = readMessage('{"id":12345678901234567890,"result":1.50}');
  assert.deepEqual(large, { kind: 'response', id: '12345678901234567890', result: '1.50', isStream: false });
});

// SSE-02, SSE-03
test('events are read however their text is cut', () => {
  const text = '\uFEFFdata: a\r\ndata: b\r\n\r\n: comment\n\ndata:c\rid: 1\r\revent: x\ndata\n\nignored: 1\n\ndata: open';
  for (let size = 1; size <= text.length; size += 1) {
    const events: string[] = [];
    const reader = new EventReader((data) => events.push(data));
    for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size));
    assert.deepEqual(events, ['a\nb', 'c', ''], `in pieces of ${size}`);
  }
});

test('an endpoint is a URL that a page can call', () => {
  const read = (typed: string) => {
    const found = readEndpoint(typed, 'http://127.0.0.1:8000/');
    return 'url' in found ? found.url.href : found.problem.slice(0, 12);
  };
  assert.equal(read('localhost:9000'), 'http://localhost:9000/');
  assert.equal(read('/rpc'), 'http://127.0.0.1:8000/rpc');
  assert.equal(read(' wss://a.example/x#y '), 'wss://a.example/x');
  assert.equal(read('tcp://a.example'), 'A page canno');
  assert.equal(read('javascript://alert(1)'), 'A page canno');
  assert.equal(read('http://u:p@a.example'), 'Remove the u');
  assert.equal(read('http://'), '“http://” is');
  for (const wrong of ['hello', 'http//127.0.0.1:8000', 'http:127.0.0.1', 'a b.c', '127.0.0.1:99999', '?', 'localhost 8000']) {
    assert.match(read(wrong), /^“/, wrong);
  }
  assert.equal(read('box:8000/rpc'), 'http://box:8000/rpc');
  assert.equal(read('[::1]:8000'), 'http://[::1]:8000/');
  assert.equal(read('rpc.example.org/v1'), 'http://rpc.example.org/v1');
  const port = readEndpoint('9000', 'http://127.0.0.1:8000/');
  assert.match('problem' in port ? port.problem : '', /http:\/\/127\.0\.0\.1:9000\/$/);
  assert.equal(urlFor('https://a.example/x', 'ws'), 'wss://a.example/x');
  assert.equal(urlFor('ws://a.example/x', 'sse'), 'http://a.example/x');
});

test('a call that did not get through is explained', () => {
  const attempt = { url: 'http://a.example:8000/', origin: 'http://127.0.0.1:1', probe: 'a server' as Probe, headers: ['authorization'] };
  assert.match(explain(attempt).advice.join(), /--allow-origin http:\/\/127\.0\.0\.1:1 --cors/);
  assert.match(explain(attempt).advice.join(), /Access-Control-Allow-Headers: content-type, authorization/);
  assert.match(explain({ ...attempt, probe: 'nothing' }).title, /cannot be reached, or does not allow/);
  assert.equal(explain({ ...attempt, url: 'http://127.0.0.1:1/x', probe: 'nothing' }).title, 'The server cannot be reached');
  assert.match(explain({ ...attempt, origin: 'https://b.example' }).title, /over https cannot call http/);
  assert.equal(explain({ ...attempt, url: 'http://a.example:8000/x', probe: 'another path' }).title, 'a.example:8000 serves nothing at /x');
});

test('a link holds the call and comes back whole', () => {
  const shared: Shared = {
    endpoint: 'http://a.example/',
    transport: 'ws',
    version: '1.0',
    method: 'é/😀',
    params: '[1.50]',
    isNotification: true,
  };
  assert.deepEqual(fromFragment(toFragment(shared)), shared);
  const own: Shared = { ...shared, endpoint: undefined, isNotification: false };
  assert.deepEqual(fromFragment(toFragment(own)), own);
  for (const fragment of ['', '#', '#call=', '#call=!!', '#call=AAAA', `#call=${btoa('{"m":1}')}`, `#call=${btoa('null')}`]) {
    assert.equal(fromFragment(fragment), undefined, fragment);
  }
});

test('a document is read as far as it is one', () => {
  const { methods, title } = readDocument({
    info: { title: 'T' },
    methods: [
      {
        name: 'add',
        'x-safe': true,
        'x-mcp': { tool: 'math_add' },
        params: [{ $ref: '#/components/contentDescriptors/A' }, { name: 'b', schema: { type: 'number' } }],
        result: { name: 'r', schema: { type: 'number' } },
      },
      {
        name: 'sum',
        paramStructure: 'by-name',
        'x-mcp': { tool: false },
        params: [{ name: 'all', 'x-variadic': true, schema: { type: 'array', items: { type: 'number' } } }],
      },
      {
        name: 'ticks',
        deprecated: true,
        'x-deprecated-reason': 'old',
        'x-stream': { item: { type: 'integer' } },
        params: [],
        examples: [{ name: 'e', params: [] }],
      },
      { name: 'tell', 'x-stream': { item: true, optional: true }, params: [], result: { name: 'r', schema: { type: 'string' } } },
      { name: 'open', 'x-additional-params': true, params: [] },
      { params: [] },
      7,
    ],
    components: { contentDescriptors: { A: { name: 'a', required: true, schema: { type: 'number' } } } },
  });
  assert.equal(title, 'T');
  assert.deepEqual(
    methods.map(({ name, marks }) => [name, ...marks]),
    [['add', 'safe'], ['sum'], ['ticks', 'stream', 'deprecated'], ['tell'], ['open']],
  );
  assert.deepEqual(
    methods[0]?.params.map(({ name, required }) => [name, required]),
    [
      ['a', true],
      ['b', false],
    ],
  );
  const unknown = (method: Method, text: string) =>
    check(text, parse(text).node!, paramsSchema(method, false), {}).map(({ message }) => message);
  assert.deepEqual(unknown(methods[3]!, '{"_meta": {"token": 1}, "other": 1}'), ['"other" is unknown']);
  assert.deepEqual(unknown({ ...methods[3]!, takesOthers: true }, '{"_meta": 1, "other": 1}'), []);
  assert.equal(methods[4]?.takesOthers, true);
  assert.equal(methods[2]?.deprecated, 'old');
  assert.deepEqual(
    methods.slice(0, 3).map(({ tool }) => tool),
    ['math_add', undefined, undefined],
  );
  assert.deepEqual(methods[2]?.result, { type: 'integer' });
  assert.deepEqual(methods[3]?.result, { type: 'string' });
  assert.deepEqual(paramsSchema(methods[1]!, true), { type: 'array', items: [], additionalItems: { type: 'number' }, minItems: 0 });
  for (const nonsense of [null, 1, [], {}, { methods: {} }]) assert.deepEqual(readDocument(nonsense).methods, []);
});
