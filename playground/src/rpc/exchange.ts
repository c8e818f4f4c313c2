/** One request and its answer, as they were sent and received. */

import { signal } from '@preact/signals';
import type { Transport } from './endpoint.js';
import type { Incoming } from './message.js';
import { readMessage } from './message.js';

/** Of a stream the last items are kept. */
export const KEPT_FRAMES = 500;
/** And no more of them than this, in bytes. */
const KEPT_BYTES = 32 << 20;
/** And the last of what is not part of the answer. */
const KEPT_ASIDES = 50;
/** Longer answers are not read to their end. */
export const LONGEST_ANSWER = 16 << 20;

export type State = 'waiting' | 'live' | 'done' | 'failed' | 'stopped';

/** A piece that came in: a frame of a WebSocket, an event, or the one body of a response. */
export interface Frame {
  readonly text: string;
  readonly bytes: number;
  /** Milliseconds since the request was sent. */
  readonly at: number;
  readonly message: Incoming;
}

/** A message of the wire that is not part of the answer: a cancel or an unsubscribe, and whatever arrives after the end. */
export interface Aside {
  readonly text: string;
  /** Milliseconds since the request was sent. */
  readonly at: number;
  readonly isSent: boolean;
}

/** Something went wrong before there was an answer. */
export interface Failure {
  readonly title: string;
  readonly advice: readonly string[];
  /** The server does not know the caller: logging in may help. */
  readonly isLocked?: boolean;
}

export interface Head {
  readonly name: string;
  readonly value: string;
}

/** What is known of an HTTP response besides its body. */
export interface HttpAnswer {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly Head[];
}

/** What was sent. */
export interface Sent {
  readonly title: string;
  /** It breaks a rule on purpose: then an error is not a failure. */
  readonly isBroken: boolean;
  readonly transport: Transport;
  readonly url: string;
  /** Those that the page set; values of secret ones are replaced. */
  readonly headers: readonly Head[];
  readonly text: string;
  readonly bytes: number;
}

let count = 0;

/** A request under way or answered. When its fields change, `revision` does. */
export class Exchange {
  readonly key = (count += 1);
  readonly begun = performance.now();
  readonly clock = new Date();
  readonly revision = signal(0);
  state: State = 'waiting';
  http: HttpAnswer | undefined;
  /** The body of an event stream as it came, the last of it. */
  raw = '';
  frames: Frame[] = [];
  asides: Aside[] = [];
  /** How many came, kept or not. */
  received = 0;
  bytes = 0;
  firstAt: number | undefined;
  endedAt: number | undefined;
  failure: Failure | undefined;
  /** Ends it early, where that is possible. */
  stop: (() => void) | undefined;
  private kept = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(readonly sent: Sent) {}

  /** Notes a piece that came in. */
  receive(text: string): Frame {
    const frame = { text, bytes: size(text), at: performance.now() - this.begun, message: readMessage(text) };
    this.firstAt ??= frame.at;
    this.received += 1;
    this.bytes += frame.bytes;
    this.frames.push(frame);
    this.kept += frame.bytes;
    while (this.frames.length > KEPT_FRAMES || (this.kept > KEPT_BYTES && this.frames.length > 1)) this.kept -= this.frames.shift()!.bytes;
    this.touch();
    return frame;
  }

  /** Notes a message that is not part of the answer. */
  note(text: string, isSent: boolean): void {
    this.asides = [...this.asides, { text, at: performance.now() - this.begun, isSent }].slice(-KEPT_ASIDES);
    this.touch();
  }

  /** Notes that nothing follows. */
  end(state: State): void {
    if (this.endedAt !== undefined) return;
    this.state = state;
    this.endedAt = performance.now() - this.begun;
    this.stop = undefined;
    this.touch();
  }

  /** Notes that there will be no answer. */
  fail(failure: Failure): void {
    if (this.endedAt !== undefined) return;
    this.failure = failure;
    this.end('failed');
  }

  /** Has what shows it shown anew, soon: streams may be fast. */
  touch(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.revision.value += 1;
    }, 25);
  }
}

/** The length of a text in UTF-8. */
export function size(text: string): number {
  return new TextEncoder().encode(text).length;
}
