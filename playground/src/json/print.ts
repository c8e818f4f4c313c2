/** Writes JSON again, without touching a number or a string. */

import type { Node } from './node.js';
import { source } from './node.js';
import { parse } from './parse.js';

/** Lists and objects up to this length stay on one line. */
const SHORT = 60;

/** The text with one member a line where it is long; the text itself if it is not JSON. */
export function pretty(text: string): string {
  const { node } = parse(text);
  return node ? write(text, node, '') : text;
}

/** The text on one line, without blanks; the text itself if it is not JSON. */
export function compact(text: string): string {
  const { node } = parse(text);
  return node ? tight(text, node) : text;
}

function tight(text: string, node: Node): string {
  switch (node.kind) {
    case 'array':
      return `[${node.items.map((item) => tight(text, item)).join(',')}]`;
    case 'object':
      return `{${node.members.map((m) => `${source(text, m.at)}:${tight(text, m.value)}`).join(',')}}`;
    default:
      return source(text, node);
  }
}

function write(text: string, node: Node, indent: string): string {
  if (node.kind !== 'array' && node.kind !== 'object') return source(text, node);
  // What is long even with its blanks is not worth trying.
  const line = node.to - node.from < 20 * SHORT ? oneLine(text, node) : undefined;
  if (line !== undefined && line.length + indent.length <= SHORT) return line;
  const deeper = `${indent}  `;
  const entries =
    node.kind === 'array'
      ? node.items.map((item) => write(text, item, deeper))
      : node.members.map((m) => `${source(text, m.at)}: ${write(text, m.value, deeper)}`);
  const [open, close] = node.kind === 'array' ? '[]' : '{}';
  return `${open}\n${entries.map((entry) => deeper + entry).join(',\n')}\n${indent}${close}`;
}

function oneLine(text: string, node: Node): string {
  switch (node.kind) {
    case 'array':
      return `[${node.items.map((item) => oneLine(text, item)).join(', ')}]`;
    case 'object': {
      const members = node.members.map((m) => `${source(text, m.at)}: ${oneLine(text, m.value)}`);
      return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
    }
    default:
      return source(text, node);
  }
}
