/**
 * A WebSocket that stays open: each message goes to the exchange it belongs to, and everything else is a push.
 *
 * A response belongs to the exchange that waits for its id; an item to the stream whose id it holds. A response that no
 * exchange waits for belongs to a text that was sent unread, if one is still open: the ids in such a text are not known.
 *
 * A stopped exchange keeps its messages: the answer to a cancel or an unsubscribe, and items that were already on their way,
 * are asides of it.
 */

import type { Exchange } from './exchange.js';
import { explainSocket, explainUnfit } from './failure.js';
import { type Login, loginHeader, loginProtocols, unfitForSocket } from './login.js';
import { type Incoming, readMessage } from './message.js';
import { probe } from './probe.js';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';

/** Whom a link informs. */
export interface Ears {
  readonly onState: (state: LinkState) => void;
  readonly onPush: (text: string) => void;
}

export type LinkState = 'closed' | 'opening' | 'open';

/** How long a socket may take to open. */
const PATIENCE = 10_000;

/** A stream that goes on, and how it is ended. */
interface Live {
  readonly exchange: Exchange;
  readonly unsubscribe: string;
}

export class Link {
  private socket: WebSocket | undefined;
  private opening: Promise<void> | undefined;
  private readonly pending = new Map<string, Exchange>();
  private readonly streams = new Map<string, Live>();
  /** Streams that end with the response to an unsubscribe, by its id. */
  private readonly closing = new Map<string, string>();
  private loose: Exchange | undefined;
  private nextOwn = 0;

  constructor(
    readonly url: string,
    readonly login: Login | undefined,
    private readonly ears: Ears,
  ) {}

  /** Sends a text for an exchange that waits for these identifiers; without any, for whatever comes. */
  async send(text: string, ids: readonly string[], exchange: Exchange, isLoose = false): Promise<void> {
    exchange.stop = () => exchange.end('stopped');
    const unfit = unfitForSocket(this.login);
    if (unfit !== undefined) return exchange.fail(explainUnfit(unfit));
    try {
      await (this.opening ??= this.open());
    } catch {
      const found = await probe(this.url, this.login ? [loginHeader(this.login)] : []);
      exchange.fail(explainSocket({ url: this.url, origin: location.origin, probe: found, isLoggedIn: this.login !== undefined }));
      return;
    }
    if (exchange.endedAt !== undefined) return;
    for (const id of ids) this.pending.set(id, exchange);
    if (isLoose) this.loose = exchange;
    exchange.stop = ids.length > 0 ? () => this.cancel(ids, exchange) : undefined;
    exchange.touch();
    this.socket?.send(text);
    if (ids.length === 0 && !isLoose) exchange.end('done');
  }

  /** Stops waiting for whatever comes. */
  settle(exchange: Exchange): void {
    if (this.loose === exchange) this.loose = undefined;
    exchange.end('done');
  }

  close(): void {
    this.socket?.close(1000);
  }

  private open(): Promise<void> {
    this.ears.onState('opening');
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(this.url, [...loginProtocols(this.login)]);
      const timer = setTimeout(() => socket.close(), PATIENCE);
      this.socket = socket;
      socket.onopen = () => {
        clearTimeout(timer);
        this.ears.onState('open');
        resolve();
      };
      socket.onmessage = ({ data }) => this.receive(String(data));
      socket.onclose = () => {
        clearTimeout(timer);
        this.lose();
        reject(new Error('closed'));
      };
    });
  }

  private lose(): void {
    this.socket = undefined;
    this.opening = undefined;
    this.ears.onState('closed');
    const waiting = new Set([...this.pending.values(), ...[...this.streams.values()].map((live) => live.exchange)]);
    if (this.loose) waiting.add(this.loose);
    for (const exchange of waiting) exchange.fail({ title: 'The connection was closed', advice: ['Send again to reconnect.'] });
    this.pending.clear();
    this.streams.clear();
    this.closing.clear();
    this.loose = undefined;
  }

  private receive(text: string): void {
    const message = readMessage(text);
    const owner = this.owner(message);
    if (!owner) {
      this.ears.onPush(text);
      this.refuse(message);
      return;
    }
    const isOver = owner.endedAt !== undefined;
    if (isOver) owner.note(text, false);
    else owner.receive(text);
    this.settleWith(message, owner, text);
  }

  private owner(message: Incoming): Exchange | undefined {
    if (message.kind === 'batch') return this.firstOwner(message.entries) ?? this.loose;
    if (message.kind === 'response') return this.pending.get(message.id) ?? this.loose;
    if (message.kind !== 'call') return this.loose;
    const params = parse(message.params).node;
    const subscription = member(params, 'subscription');
    if (subscription) return this.streams.get(source(message.params, subscription))?.exchange;
    const id = member(params, 'id');
    return id && message.method === 'rpc.progress' ? this.pending.get(source(message.params, id)) : undefined;
  }

  private firstOwner(entries: readonly Incoming[]): Exchange | undefined {
    for (const entry of entries) {
      const owner = entry.kind === 'response' ? this.pending.get(entry.id) : undefined;
      if (owner) return owner;
    }
    return undefined;
  }

  /** Notes what a message settles for its exchange. */
  private settleWith(message: Incoming, owner: Exchange, text: string): void {
    if (message.kind === 'batch') {
      for (const entry of message.entries) this.noteResponse(entry, owner, '');
    } else if (message.kind === 'response') {
      this.noteResponse(message, owner, text);
    } else if (message.kind === 'call') {
      const params = parse(message.params).node;
      const isLast = message.method === 'rpc.end' || member(params, 'error') !== undefined;
      const subscription = member(params, 'subscription');
      if (isLast && subscription) this.streams.delete(source(message.params, subscription));
    } else if (owner === this.loose) {
      this.settle(owner);
    }
    if (owner.endedAt !== undefined) return;
    const isWaiting = [...this.pending.values()].includes(owner);
    const isLive = [...this.streams.values()].some((live) => live.exchange === owner);
    if (isLive) owner.state = 'live';
    else if (!isWaiting) owner.end('done');
  }

  private noteResponse(message: Incoming, owner: Exchange, text: string): void {
    if (message.kind !== 'response') return;
    this.pending.delete(message.id);
    const closed = this.closing.get(message.id);
    if (closed !== undefined) {
      this.closing.delete(message.id);
      this.streams.delete(closed);
    }
    if (owner === this.loose) this.loose = undefined;
    if (!message.isStream || message.result === undefined) return;
    const key = message.result;
    const names = member(parse(text).node, 'stream');
    const named = member(names, 'unsubscribe');
    const unsubscribe = named?.kind === 'string' ? named.value : 'rpc.unsubscribe';
    this.streams.set(key, { exchange: owner, unsubscribe });
    // Stopped before the server said that it is a stream: that it was cancelled is not enough then.
    if (owner.endedAt !== undefined) this.unsubscribe(key);
    else owner.stop = () => this.unsubscribe(key);
  }

  private unsubscribe(key: string): void {
    const live = this.streams.get(key);
    if (!live) return;
    this.nextOwn += 1;
    const id = JSON.stringify(`stop-${this.nextOwn}`);
    this.pending.set(id, live.exchange);
    this.closing.set(id, key);
    live.exchange.end('stopped');
    const params = `"params":[${key}]`;
    this.sendAside(`{"jsonrpc":"2.0","method":${JSON.stringify(live.unsubscribe)},${params},"id":${id}}`, live.exchange);
  }

  private cancel(ids: readonly string[], exchange: Exchange): void {
    exchange.end('stopped');
    const waiting = ids.filter((id) => this.pending.get(id) === exchange);
    for (const id of waiting) this.sendAside(`{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":${id}}}`, exchange);
  }

  private sendAside(text: string, exchange: Exchange): void {
    this.socket?.send(text);
    exchange.note(text, true);
  }

  /** The page serves no methods, and says so to a server that calls one. */
  private refuse(message: Incoming): void {
    if (message.kind !== 'call' || message.id === undefined) return;
    const error = '{"code":-32601,"message":"Method not found","data":"the playground serves no methods"}';
    this.socket?.send(`{"jsonrpc":"2.0","error":${error},"id":${message.id}}`);
  }
}
