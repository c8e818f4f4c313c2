/** The connection to the command that serves this page: JSON-RPC in both directions over a WebSocket. */

import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { type RpcError, readMessage } from '../rpc/message.js';

/** Whom a link informs. Params are JSON text, so that no digit is lost. */
export interface Ears {
  readonly onClose: (wasOpen: boolean) => void;
  readonly onNotify: (method: string, params: string) => void;
  /** Answers a call with JSON text. The signal says that the answer is not wanted any more. */
  readonly onCall: (method: string, params: string, signal: AbortSignal) => Promise<string>;
}

/** Why a call has no result. */
export class CallFailed extends Error {
  constructor(readonly error: RpcError) {
    super(error.message);
  }
}

interface Waiting {
  readonly resolve: (result: string) => void;
  readonly reject: (why: CallFailed) => void;
}

const LOST: RpcError = { code: undefined, message: 'The connection to the command was lost', data: undefined };

export class Link {
  private readonly socket: WebSocket;
  private readonly waiting = new Map<string, Waiting>();
  private readonly asked = new Map<string, AbortController>();
  private nextId = 1;
  private wasOpen = false;

  constructor(
    url: string,
    token: string,
    onOpen: () => void,
    private readonly ears: Ears,
  ) {
    this.socket = new WebSocket(url, ['jsonrpc', `bearer.${token}`]);
    this.socket.onopen = () => {
      this.wasOpen = true;
      onOpen();
    };
    this.socket.onmessage = ({ data }) => this.receive(String(data));
    this.socket.onclose = () => this.lose();
  }

  /** Calls a method, and gives the result as JSON text. Aborting cancels the call. */
  call(method: string, params: string, signal?: AbortSignal): Promise<string> {
    const id = String(this.nextId++);
    return new Promise((resolve, reject) => {
      if (this.socket.readyState !== WebSocket.OPEN) return reject(new CallFailed(LOST));
      this.waiting.set(id, { resolve, reject });
      signal?.addEventListener('abort', () => {
        if (this.waiting.has(id)) this.send(`{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":${id}}}`);
      });
      this.send(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params},"id":${id}}`);
    });
  }

  close(): void {
    this.socket.close(1000);
  }

  private send(text: string): void {
    this.socket.send(text);
  }

  private lose(): void {
    for (const { reject } of this.waiting.values()) reject(new CallFailed(LOST));
    for (const controller of this.asked.values()) controller.abort();
    this.waiting.clear();
    this.asked.clear();
    this.ears.onClose(this.wasOpen);
  }

  private receive(text: string): void {
    const message = readMessage(text);
    if (message.kind === 'response') {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) waiting?.reject(new CallFailed(message.error));
      else waiting?.resolve(message.result ?? 'null');
    } else if (message.kind === 'call' && message.id !== undefined) {
      void this.answer(message.id, message.method, message.params);
    } else if (message.kind === 'call' && message.method === 'rpc.cancel') {
      const id = member(parse(message.params).node, 'id');
      if (id) this.asked.get(source(message.params, id))?.abort();
    } else if (message.kind === 'call') {
      this.ears.onNotify(message.method, message.params);
    }
  }

  private async answer(id: string, method: string, params: string): Promise<void> {
    const controller = new AbortController();
    this.asked.set(id, controller);
    const told = await this.ears.onCall(method, params, controller.signal).then(
      (result) => `"result":${result}`,
      (error: unknown) => `"error":${errorText(error)}`,
    );
    this.asked.delete(id);
    if (this.socket.readyState === WebSocket.OPEN) this.send(`{"jsonrpc":"2.0",${told},"id":${id}}`);
  }
}

function errorText(error: unknown): string {
  const { code = -32603, message } = error instanceof CallFailed ? error.error : { message: String(error) };
  return JSON.stringify({ code, message });
}
