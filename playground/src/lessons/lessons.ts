/** The lessons: what to read, what to send, and what to look for in the answer. Data only. */

import type { Check } from './check.js';
import type { Transport } from '../rpc/endpoint.js';

export interface Lesson {
  readonly key: string;
  readonly title: string;
  readonly summary: string;
  readonly steps: readonly Step[];
}

export interface Step {
  readonly title: string;
  /** What to know before sending; `code` stands between backticks. */
  readonly text: string;
  /** HTTP unless it says otherwise. */
  readonly transport?: Transport;
  /** The methods that the server must have for this step. */
  readonly needs: readonly string[];
  /** A message that goes out just before the one to send. */
  readonly first?: string;
  readonly send: string;
  readonly check: Check;
  /** What to notice in the answer, once it is as expected. */
  readonly notice: string;
}

export const LESSONS: readonly Lesson[] = [
  {
    key: 'calls',
    title: 'Calls and params',
    summary: 'Call a method by position and by name',
    steps: [
      {
        title: 'A first call',
        text: 'A call is one JSON object. `method` names what to call, `params` holds the arguments, and `id` is a label that you choose. Press Send to subtract 23 from 42.',
        needs: ['math/subtract'],
        send: '{"jsonrpc": "2.0", "method": "math/subtract", "params": [42, 23], "id": 1}',
        check: { kind: 'result', result: '19', id: '1' },
        notice: 'The answer has the `result`, and the same `id` as your call. Choose Whole response on the right to see both.',
      },
      {
        title: 'Params by name',
        text: 'An array passes params by position, as in step 1. An object passes them by name, so their order does not matter: here `b` comes first.',
        needs: ['math/subtract'],
        send: '{"jsonrpc": "2.0", "method": "math/subtract", "params": {"b": 23, "a": 42}, "id": 2}',
        check: { kind: 'result', result: '19', id: '2' },
        notice: 'The result is 19 again. Names make a call easier to read, and safer when a method gains params.',
      },
      {
        title: 'No params at all',
        text: 'A method that takes no params is called without `params`. Leave the member out; `null` is not allowed by the specification.',
        needs: ['get_data'],
        send: '{"jsonrpc": "2.0", "method": "get_data", "id": 3}',
        check: { kind: 'result', result: '["hello",5]', id: '3' },
        notice: 'A result can be any JSON value. This one is an array.',
      },
      {
        title: 'Now change it',
        text: 'You can edit every message before you send it. `sum` adds as many numbers as you like: add a few, then press Send.',
        needs: ['sum'],
        send: '{"jsonrpc": "2.0", "method": "sum", "params": [1, 2, 4], "id": 4}',
        check: { kind: 'result', id: '4' },
        notice: 'What you typed went out exactly as you typed it. Wire shows the bytes, with their HTTP headers.',
      },
    ],
  },
  {
    key: 'ids',
    title: 'Ids and matching answers',
    summary: 'How an answer finds its call',
    steps: [
      {
        title: 'An id of your own',
        text: 'An id is a string or a number, and you choose it. The server does not interpret it. It only copies it into the answer.',
        needs: ['echo'],
        send: '{"jsonrpc": "2.0", "method": "echo", "params": ["hello"], "id": "order-66"}',
        check: { kind: 'result', result: '"hello"', id: '"order-66"' },
        notice: 'The id came back unchanged. The playground gives each id a colour, the same one in the call, in the answer and in the diagram.',
      },
      {
        title: 'A number is not a string',
        text: 'The ids `1` and `"1"` are different. A server must return the type that you sent.',
        needs: ['echo'],
        send: '{"jsonrpc": "2.0", "method": "echo", "params": ["hello"], "id": "1"}',
        check: { kind: 'result', result: '"hello"', id: '"1"' },
        notice: 'The answer has `"1"` with its quotes. A client that compares ids loosely mixes up calls here.',
      },
      {
        title: 'Answers in another order',
        text: 'On a WebSocket, many calls can be under way at once. Send starts a slow call, and a fast one right behind it.',
        transport: 'ws',
        needs: ['wait', 'echo'],
        first: '{"jsonrpc": "2.0", "method": "wait", "params": [1], "id": "slow"}',
        send: '{"jsonrpc": "2.0", "method": "echo", "params": ["me first"], "id": "fast"}',
        check: { kind: 'order', ids: ['"fast"', '"slow"'] },
        notice: 'The fast call was answered first, although it was sent last. Only the ids say which answer is which. Open Diagram to see the order.',
      },
    ],
  },
  {
    key: 'notifications',
    title: 'Notifications',
    summary: 'Messages without an answer',
    steps: [
      {
        title: 'Leave out the id',
        text: 'A request without `id` is a notification. The sender does not want an answer, so the server must not send one.',
        needs: ['logEvent'],
        send: '{"jsonrpc": "2.0", "method": "logEvent", "params": ["lesson started"]}',
        check: { kind: 'nothing' },
        notice: 'No response object came back. HTTP still needs a reply, so the server sent status 204, No Content.',
      },
      {
        title: 'Errors are silent, too',
        text: 'This method does not exist. A call would fail with -32601. What happens to a notification?',
        needs: [],
        send: '{"jsonrpc": "2.0", "method": "no/such/method"}',
        check: { kind: 'nothing' },
        notice: 'Nothing again. You cannot tell whether a notification was understood. If you need to know, make a call.',
      },
      {
        title: 'Null counts as an id',
        text: 'A common mistake is `"id": null`. In version 2.0 that is a call, and it gets an answer.',
        needs: ['echo'],
        send: '{"jsonrpc": "2.0", "method": "echo", "params": ["still a call"], "id": null}',
        check: { kind: 'result', result: '"still a call"', id: 'null' },
        notice: 'The server answered with `"id": null`. Such an answer is hard to match, so leave `id` out to send a notification.',
      },
    ],
  },
  {
    key: 'errors',
    title: 'Errors and their codes',
    summary: 'What the numbers mean',
    steps: [
      {
        title: 'Method not found',
        text: 'An answer has either a `result` or an `error`, never both. An error has a `code`, a `message`, and sometimes `data`.',
        needs: [],
        send: '{"jsonrpc": "2.0", "method": "no/such/method", "id": 1}',
        check: { kind: 'error', code: -32601, id: '1' },
        notice: '-32601 is the same on every server. Codes from -32768 to -32000 are reserved by the specification.',
      },
      {
        title: 'Invalid params',
        text: '`math/add` takes two numbers. This call sends a string as the first one.',
        needs: ['math/add'],
        send: '{"jsonrpc": "2.0", "method": "math/add", "params": ["2", 3], "id": 2}',
        check: { kind: 'error', code: -32602, id: '2' },
        notice: '-32602 says that the params do not fit the method. Here `data` says which one, and what was expected.',
      },
      {
        title: 'An error from the method',
        text: 'These params have the right type, but a negative number has no real square root. The method itself refuses.',
        needs: ['math/sqrt'],
        send: '{"jsonrpc": "2.0", "method": "math/sqrt", "params": [-1], "id": 3}',
        check: { kind: 'error', code: -32001, id: '3' },
        notice: 'Servers define the codes from -32099 to -32000 themselves. On this server, -32001 means that the values are not acceptable.',
      },
      {
        title: 'Not JSON',
        text: 'The closing brace is missing. The server cannot read anything in this text, not even the id.',
        needs: [],
        send: '{"jsonrpc": "2.0", "method": "math/add", "params": [2, 3], "id": 4',
        check: { kind: 'error', code: -32700, id: 'null' },
        notice: '-32700 is a parse error. Its id is null, because the server could not read yours. Note that HTTP still says 200.',
      },
    ],
  },
  {
    key: 'batches',
    title: 'Batches',
    summary: 'Several requests in one message',
    steps: [
      {
        title: 'Three requests, two answers',
        text: 'A batch is an array of requests. This one has two calls, with a notification between them.',
        needs: ['sum', 'notify_hello', 'get_data'],
        send: '[\n  {"jsonrpc": "2.0", "method": "sum", "params": [1, 2, 4], "id": "a"},\n  {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]},\n  {"jsonrpc": "2.0", "method": "get_data", "id": "b"}\n]',
        check: {
          kind: 'answers',
          answers: [
            { id: '"a"', result: '7' },
            { id: '"b"', result: '["hello",5]' },
          ],
        },
        notice: 'One array came back, with an answer to each call and none to the notification. Answers may come in any order, so match them by id.',
      },
      {
        title: 'One bad entry',
        text: 'The second entry is not a request. Does it spoil the first?',
        needs: ['sum'],
        send: '[\n  {"jsonrpc": "2.0", "method": "sum", "params": [1, 2], "id": 1},\n  {"foo": "boo"}\n]',
        check: {
          kind: 'answers',
          answers: [
            { id: '1', result: '3' },
            { id: 'null', error: -32600 },
          ],
        },
        notice: 'Each entry stands alone. The valid call was answered, and the invalid entry got its own error.',
      },
      {
        title: 'Only notifications',
        text: 'A batch without any call has nothing to answer.',
        needs: ['notify_hello'],
        send: '[\n  {"jsonrpc": "2.0", "method": "notify_hello", "params": [1]},\n  {"jsonrpc": "2.0", "method": "notify_hello", "params": [2]}\n]',
        check: { kind: 'nothing' },
        notice: 'Nothing came back, not even an empty array.',
      },
      {
        title: 'An empty batch',
        text: 'An array without entries is not a valid batch.',
        needs: [],
        send: '[]',
        check: { kind: 'error', code: -32600, id: 'null' },
        notice: 'The answer is a single error object, not an array.',
      },
    ],
  },
  {
    key: 'streaming',
    title: 'Streaming tokens over SSE',
    summary: 'Read an answer while it is being generated',
    steps: [
      {
        title: 'One answer',
        text: '`ai/generate` stands in for a language model: it repeats your prompt. Over plain HTTP you wait for the whole text.',
        needs: ['ai/generate'],
        send: '{"jsonrpc": "2.0", "method": "ai/generate", "params": {"prompt": "Tokens arrive one by one"}, "id": 1}',
        check: { kind: 'result', result: '"Tokens arrive one by one"', id: '1' },
        notice: 'One string, in one response.',
      },
      {
        title: 'Token by token',
        text: 'The same message, sent with `Accept: text/event-stream`. The server may now answer with server-sent events.',
        transport: 'sse',
        needs: ['ai/generate'],
        send: '{"jsonrpc": "2.0", "method": "ai/generate", "params": {"prompt": "Tokens arrive one by one"}, "id": 2}',
        check: { kind: 'items', items: ['"Tokens "', '"arrive "', '"one "', '"by "', '"one"'] },
        notice: 'Each token came in a separate response, with the id of your call. Open Wire to see the events, and `[DONE]` at the end.',
      },
      {
        title: 'A stream of numbers',
        text: '`math/add_stream` counts from 0 up to the sum of two numbers, and sends each number as soon as there is room for it.',
        transport: 'sse',
        needs: ['math/add_stream'],
        send: '{"jsonrpc": "2.0", "method": "math/add_stream", "params": [1, 2], "id": 3}',
        check: { kind: 'items', items: ['0', '1', '2', '3'] },
        notice: 'Four items. Try larger numbers, and press Stop while the items arrive: the server stops, too.',
      },
    ],
  },
  {
    key: 'websocket',
    title: 'WebSocket, pushes and callbacks',
    summary: 'A connection on which both sides send',
    steps: [
      {
        title: 'The same call',
        text: 'A WebSocket stays open, and each message is one text frame. The JSON does not change.',
        transport: 'ws',
        needs: ['math/add'],
        send: '{"jsonrpc": "2.0", "method": "math/add", "params": [2, 3], "id": "ws-1"}',
        check: { kind: 'result', result: '5', id: '"ws-1"' },
        notice: 'The connection stays open for the next call; the top of the page shows its state.',
      },
      {
        title: 'The server sends first',
        text: 'On this connection the server can send messages that you did not ask for. `watch` makes it push a notification every half second.',
        transport: 'ws',
        needs: ['watch'],
        send: '{"jsonrpc": "2.0", "method": "watch", "params": {"seconds": 0.5}, "id": "ws-2"}',
        check: { kind: 'pushes', method: 'onTick', least: 3 },
        notice: '`onTick` arrives without an id: it is a notification, from the server to you. Press Disconnect at the top to end it.',
      },
      {
        title: 'Tell me when it changes',
        text: 'After `getStatus`, the server calls back with `onUpdate` whenever something changes. Send asks for the status, and then sends an `update`.',
        transport: 'ws',
        needs: ['getStatus', 'update'],
        first: '{"jsonrpc": "2.0", "method": "getStatus", "id": "ws-3"}',
        send: '{"jsonrpc": "2.0", "method": "update", "params": [1, 2, 3]}',
        check: { kind: 'pushes', method: 'onUpdate', least: 1 },
        notice: 'Your notification changed the status, and the server pushed the new one. Diagram shows messages in both directions.',
      },
      {
        title: 'A stream on a connection',
        text: 'Other messages share this connection, so the items of a stream need a label. The first answer holds the id of the stream.',
        transport: 'ws',
        needs: ['count'],
        send: '{"jsonrpc": "2.0", "method": "count", "params": [3], "id": "ws-4"}',
        check: { kind: 'items', items: ['1', '2', '3'] },
        notice: 'Each item is a notification that names the stream, and `rpc.end` says that the stream is complete. Choose Whole response to see them.',
      },
      {
        title: 'Cancel a call',
        text: 'Send starts a call that takes a minute, and then cancels it by its id.',
        transport: 'ws',
        needs: ['wait'],
        first: '{"jsonrpc": "2.0", "method": "wait", "params": [60], "id": "long"}',
        send: '{"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": "long"}}',
        check: { kind: 'error', code: -32800, id: '"long"' },
        notice: 'The cancelled call still got its one answer: error -32800. The cancel itself is a notification, so it has none.',
      },
    ],
  },
  {
    key: 'rules',
    title: 'What goes wrong',
    summary: 'Break the rules, and see what happens',
    steps: [
      {
        title: 'A trailing comma',
        text: 'JavaScript allows a comma after the last member. JSON does not. Look at the remark below the message before you send it.',
        needs: [],
        send: '{"jsonrpc": "2.0", "method": "math/add", "params": [2, 3], "id": 1,}',
        check: { kind: 'error', code: -32700, id: 'null' },
        notice: 'A parse error, as for any text that is not JSON.',
      },
      {
        title: 'No version',
        text: 'Without `jsonrpc` the server cannot know which version you speak. Params by name rule out version 1.0.',
        needs: [],
        send: '{"method": "math/add", "params": {"a": 2, "b": 3}, "id": 2}',
        check: { kind: 'error', code: -32600 },
        notice: '-32600 means that the text is JSON, but not a valid request.',
      },
      {
        title: 'A string as params',
        text: '`params` must be an array or an object, even for a single value.',
        needs: [],
        send: '{"jsonrpc": "2.0", "method": "math/add", "params": "2 and 3", "id": 3}',
        check: { kind: 'error', code: -32600 },
        notice: 'The method was never called. Compare -32602, which says that a valid request has the wrong params.',
      },
      {
        title: 'An id that is an object',
        text: 'Ids are strings or numbers. A server cannot promise to give an object back unchanged.',
        needs: [],
        send: '{"jsonrpc": "2.0", "method": "math/add", "params": [2, 3], "id": {"number": 4}}',
        check: { kind: 'error', code: -32600, id: 'null' },
        notice: 'The error has the id null, because yours was not valid. The Break rules tab on the left has many more.',
      },
    ],
  },
];
