/** Reads JSON as RFC 8259 has it: no comments, no trailing commas. */

import type { Fault, Member, Node, Parsed, Scalar } from './node.js';

/** Deeper texts are not read, so that no text can exhaust the stack. */
const DEPTH = 200;

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** The one value of a text, or why there is none. */
export function parse(text: string): Parsed {
  const reader = new Reader(text);
  try {
    return { node: reader.whole() };
  } catch (error) {
    if (error instanceof Wrong) return { fault: error.fault };
    throw error;
  }
}

class Wrong extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}

class Reader {
  private at = 0;

  constructor(private readonly text: string) {}

  whole(): Node {
    this.skip();
    const node = this.value(0);
    this.skip();
    if (this.at < this.text.length) this.fail('unexpected text after the value');
    return node;
  }

  private value(depth: number): Node {
    if (depth > DEPTH) this.fail(`nested deeper than ${DEPTH} levels`);
    switch (this.text[this.at]) {
      case '{':
        return this.object(depth);
      case '[':
        return this.array(depth);
      case '"':
        return this.string();
      case undefined:
        return this.fail('expected a value');
      case 't':
        return this.word('true', 'boolean');
      case 'f':
        return this.word('false', 'boolean');
      case 'n':
        return this.word('null', 'null');
      default:
        return this.number();
    }
  }

  private object(depth: number): Node {
    const from = this.at++;
    const members: Member[] = [];
    this.skip();
    while (this.text[this.at] !== '}') {
      if (members.length > 0) this.expect(',', 'expected a comma or }');
      if (this.text[this.at] !== '"') this.fail('expected a name in double quotes');
      const name = this.string();
      this.skip();
      this.expect(':', 'expected a colon');
      const value = this.value(depth + 1);
      members.push({ name: name.value, at: name, value });
      this.skip();
    }
    return { kind: 'object', members, from, to: ++this.at };
  }

  private array(depth: number): Node {
    const from = this.at++;
    const items: Node[] = [];
    this.skip();
    while (this.text[this.at] !== ']') {
      if (items.length > 0) this.expect(',', 'expected a comma or ]');
      items.push(this.value(depth + 1));
      this.skip();
    }
    return { kind: 'array', items, from, to: ++this.at };
  }

  private string(): Scalar {
    const from = this.at++;
    let value = '';
    for (;;) {
      value += this.match(PLAIN);
      const next = this.text[this.at++];
      if (next === '"') return { kind: 'string', value, from, to: this.at };
      if (next !== '\\') {
        this.at -= 1;
        this.fail(next === undefined ? 'expected a closing quote' : 'a control character must be escaped');
      }
      value += this.escape();
    }
  }

  private escape(): string {
    const letter = this.text[this.at++] ?? '';
    const plain = ESCAPES[letter];
    if (plain !== undefined) return plain;
    const digits = this.text.slice(this.at, this.at + 4);
    if (letter !== 'u' || !/^[0-9a-fA-F]{4}$/.test(digits)) {
      this.at -= 2;
      this.fail('unknown escape sequence');
    }
    this.at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  private word(value: string, kind: 'boolean' | 'null'): Node {
    const from = this.at;
    if (!this.text.startsWith(value, from)) return this.number();
    this.at += value.length;
    return { kind, value, from, to: this.at };
  }

  private number(): Node {
    const from = this.at;
    const value = this.match(NUMBER);
    if (value === '') this.fail('expected a value');
    return { kind: 'number', value, from, to: this.at };
  }

  private match(pattern: RegExp): string {
    const from = this.at;
    pattern.lastIndex = from;
    // Not `exec`, which makes a list for each of what may be a million values.
    if (pattern.test(this.text)) this.at = pattern.lastIndex;
    return this.text.slice(from, this.at);
  }

  private expect(sign: string, message: string): void {
    if (this.text[this.at] !== sign) this.fail(message);
    this.at += 1;
    this.skip();
  }

  private skip(): void {
    for (;;) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.at += 1;
    }
  }

  private fail(message: string): never {
    throw new Wrong({ message, at: Math.min(this.at, this.text.length) });
  }
}
