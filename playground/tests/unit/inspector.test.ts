import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrowOf } from '../../src/diagram/arrow.js';
import { MOST, conversationOf } from '../../src/diagram/conversation.js';
import { bytesOf, dataUrl, isImage, readBlocks } from '../../src/inspector/content.js';
import { matches, readItems } from '../../src/inspector/items.js';
import { openable } from '../../src/inspector/questions.js';
import { type Surroundings, ViewHost } from '../../src/inspector/view-host.js';
import { expand, variables } from '../../src/inspector/template.js';

const values = { id: '7', path: '/foo/bar', q: 'a b&c', empty: '' };

test('URI templates are expanded as RFC 6570 says', () => {
  const check = (template: string, expected: string) => assert.equal(expand(template, values), expected, template);
  check('x://{id}/y', 'x://7/y');
  check('x://{path}', 'x://%2Ffoo%2Fbar');
  check('x://h{+path}/z', 'x://h/foo/bar/z');
  check('x://h{/id,q}', 'x://h/7/a%20b%26c');
  check('x://h{?q,none,empty,id}', 'x://h?q=a%20b%26c&id=7');
  check('x://h{?none}{#id}', 'x://h#7');
  check('x://{path:3}{.id}{;id}', 'x://%2Ffo.7;id=7');
  check('x://plain', 'x://plain');
  assert.deepEqual(variables('a{x}{?y,z*}{/x:3}'), ['x', 'y', 'z']);
});

test('lists are read as far as they can be', () => {
  const tools = readItems(
    'tools',
    `[{"name":"cut","description":"Cuts.","annotations":{"title":"Cut","destructiveHint":true,"readOnlyHint":false},
       "inputSchema":{"type":"object","properties":{"n":{"type":"integer","description":"How many"},"t":{}},"required":["n"]},"x":1e400},
      7, {"name":5}]`,
  );
  assert.deepEqual(
    tools.map(({ id, title, badges, params }) => ({ id, title, badges, params: params.map(({ name, required }) => `${name}${required ? '' : '?'}`) })),
    [
      { id: 'cut', title: 'Cut', badges: ['destructive'], params: ['n', 't?'] },
      { id: '', title: '', badges: [], params: [] },
    ],
  );
  assert.match(tools[0]!.raw, /1e400/, 'numbers stay as they are written');
  const [prompt] = readItems('prompts', '[{"name":"greet","arguments":[{"name":"who","required":true},{"name":"how"}]}]');
  assert.deepEqual(prompt!.params.map(({ name, required }) => [name, required]), [['who', true], ['how', false]]);
  const [template] = readItems('templates', '[{"uriTemplate":"notes://{year}/{id}","name":"Note"}]');
  assert.deepEqual(template!.params.map(({ name }) => name), ['year', 'id']);
  assert.deepEqual(readItems('tools', '{"no":"list"}'), []);
  assert.ok(matches(tools[0]!, 'cUT ts.') && !matches(tools[0]!, 'cut paste'));
});

test('content blocks of every kind are read, and what is unknown stays as it is', () => {
  const blocks = readBlocks(`[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"},
    {"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"resource_link","uri":"a://b","name":"B"},
    {"type":"resource","resource":{"uri":"a://c","text":"t"}},{"type":"resource","resource":{"uri":"a://d","blob":"AAAA","mimeType":"image/png"}},
    {"type":"hologram","n":1.10}, null]`);
  assert.deepEqual(blocks.map(({ type }) => type), ['text', 'image', 'audio', 'link', 'resource', 'blob', 'other', 'other']);
  assert.deepEqual(blocks[6], { type: 'other', json: '{"type":"hologram","n":1.10}' });
  assert.deepEqual(readBlocks('{"type":"text","text":"one"}'), [{ type: 'text', text: 'one' }]);
});

test('only images and sounds become data URLs', () => {
  assert.equal(dataUrl('image/png', 'AA\nAA'), 'data:image/png;base64,AAAA');
  assert.equal(dataUrl('Image/SVG+xml; charset=utf-8', 'AAAA'), 'data:image/svg+xml;base64,AAAA');
  assert.equal(dataUrl('text/html', 'AAAA'), undefined);
  assert.equal(dataUrl('image/png,<script>', 'AAAA'), undefined);
  assert.equal(dataUrl('audio/wav', '"><b>'), undefined);
  assert.ok(isImage('image/webp') && !isImage('text/html'));
  assert.deepEqual([...bytesOf('AAEC')!], [0, 1, 2]);
  assert.equal(bytesOf('%%'), undefined);
});

test('only web pages can be opened', () => {
  assert.equal(openable('https://a.example/x'), 'https://a.example/x');
  for (const url of ['javascript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'https://', '//a.example', '']) {
    assert.equal(openable(url), undefined, url);
  }
});

test('messages of MCP have words, and runs of progress fold', () => {
  const progress = (n: number) => `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":${n}}}`;
  const { kind, word } = arrowOf(progress(1), 0, false);
  assert.deepEqual({ kind, word }, { kind: 'progress', word: 'progress' });
  const cancel = arrowOf('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"x"}}', 0, true);
  assert.deepEqual([cancel.kind, cancel.id], ['cancel', '7']);
  const stateless = '{"jsonrpc":"2.0","method":"tools/list","params":{"_meta":{"a":1},"cursor":"x"},"id":1}';
  assert.equal(arrowOf(stateless, 0, true).detail, 'tools/list {"cursor":"x"}', 'without what every message has');
  const wire = Array.from({ length: 20 }, (_, at) => ({ at, sent: false, head: false, text: progress(at) }));
  const post = { at: 0, sent: true, head: true, text: 'POST /mcp' };
  assert.deepEqual(conversationOf([post, ...wire], 0).map((row) => row.kind), ['arrow', 'arrow', 'fold', 'arrow', 'arrow']);
  const calls = Array.from({ length: MOST + 10 }, (_, at) => ({ at, sent: true, head: false, text: `{"jsonrpc":"2.0","method":"m","id":${at}}` }));
  const [left] = conversationOf(calls, 5);
  assert.deepEqual(left, { kind: 'fold', text: '15 earlier messages left out' });
});

/** A host whose surroundings write down what happens. */
function hosted(more: Partial<Surroundings> = {}) {
  const posted: Record<string, unknown>[] = [];
  const happened: string[] = [];
  const around: Surroundings = {
    post: (message) => posted.push(message as Record<string, unknown>),
    request: async (method, params) => ({ method, params }),
    mayCall: (tool) => tool === 'more',
    openLink: async () => true,
    log: (level, text) => happened.push(`${level}: ${text}`),
    resize: (height) => happened.push(`height ${height}`),
    close: (why) => happened.push(`closed: ${why}`),
    now: () => 0,
    theme: 'light',
    ...more,
  };
  const host = new ViewHost(around, { tool: 't', args: { a: 1 }, result: { content: [] } });
  const ask = async (method: string, params?: unknown) => {
    host.receive({ jsonrpc: '2.0', id: 'x', method, params });
    await new Promise((resolve) => setImmediate(resolve));
    return posted.pop();
  };
  return { host, posted, happened, ask };
}

test('a view may call tools for views, and open https pages that the user agrees to', async () => {
  const { ask } = hosted();
  const code = async (method: string, params?: unknown) => ((await ask(method, params))?.['error'] as { code: number } | undefined)?.code;
  assert.deepEqual((await ask('tools/call', { name: 'more' }))?.['result'], { method: 'tools/call', params: { name: 'more', arguments: {} } });
  assert.equal(await code('tools/call', { name: 'other' }), -32602);
  assert.equal(await code('tools/call'), -32602);
  assert.equal(await code('ui/open-link', { url: 'javascript:alert(1)' }), -32602);
  assert.equal(await code('ui/open-link', { url: 'https://a.example' }), undefined);
  assert.equal(await code('tools/list'), -32601);
  const refusing = hosted({ openLink: async () => false });
  assert.deepEqual((await refusing.ask('ui/open-link', { url: 'https://a.example' }))?.['error'], { code: -32000, message: 'the user did not open the link' });
});

test('a view gets its input before its result, and a height within bounds', () => {
  const { host, posted, happened } = hosted();
  host.receive({ jsonrpc: '2.0', method: 'ui/notifications/initialized' });
  assert.deepEqual(posted.map(({ method }) => method), ['ui/notifications/tool-input', 'ui/notifications/tool-result']);
  for (const height of [1, 1e9, Infinity, '50', NaN]) host.receive({ jsonrpc: '2.0', method: 'ui/notifications/size-changed', params: { height } });
  assert.deepEqual(happened, ['height 40', 'height 900']);
});

test('a view that floods, or sends what is too long, is closed once', () => {
  const { host, happened } = hosted();
  const cycle: Record<string, unknown> = { jsonrpc: '2.0', method: 'notifications/message' };
  cycle['params'] = cycle;
  for (const odd of [null, 7, 'text', cycle, { jsonrpc: '2.0', method: 'notifications/message', params: { data: 'x'.repeat(1_000_001) } }]) host.receive(odd);
  assert.equal(happened.length, 0);
  for (let n = 0; n < 2000; n += 1) host.receive({ jsonrpc: '2.0', method: 'notifications/message', params: { data: n } });
  assert.deepEqual(happened.map((line) => line.split(':')[0]), [...Array<string>(100).fill('view'), 'closed']);
});
