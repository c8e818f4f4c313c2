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
    if (this.at < this.text.length) this.fail('nothing may follow the value');
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
        return this.fail('a value is missing');
      default:
        return this.word() ?? this.number();
    }
  }

  private object(depth: number): Node {
    const from = this.at++;
    const members: Member[] = [];
    this.skip();
    while (this.text[this.at] !== '}') {
      if (members.length > 0) this.expect(',', 'a comma or } is missing');
      if (this.text[this.at] !== '"') this.fail('a name in double quotes is missing');
      const name = this.string();
      this.skip();
      this.expect(':', 'a colon is missing');
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
      if (items.length > 0) this.expect(',', 'a comma or ] is missing');
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
        this.fail(next === undefined ? 'the string does not end' : 'a control character must be escaped');
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
      this.fail('this escape does not exist');
    }
    this.at += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  private word(): Node | undefined {
    const from = this.at;
    for (const word of ['true', 'false', 'null']) {
      if (this.text.startsWith(word, from)) {
        this.at += word.length;
        return { kind: word === 'null' ? 'null' : 'boolean', value: word, from, to: this.at };
      }
    }
    return undefined;
  }

  private number(): Node {
    const from = this.at;
    const value = this.match(NUMBER);
    if (value === '') this.fail('this is no value');
    return { kind: 'number', value, from, to: this.at };
  }

  private match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  private expect(sign: string, message: string): void {
    if (this.text[this.at] !== sign) this.fail(message);
    this.at += 1;
    this.skip();
  }

  private skip(): void {
    while (' \t\n\r'.includes(this.text[this.at] ?? 'x')) this.at += 1;
  }

  private fail(message: string): never {
    throw new Wrong({ message, at: Math.min(this.at, this.text.length) });
  }
}
