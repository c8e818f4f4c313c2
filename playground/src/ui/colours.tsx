/** Programs in colours: strings, comments, numbers and words of their language. That is enough for the few lines of a snippet. */

import type { Language } from '../snippets/snippet.js';

const WORDS: Readonly<Record<Language, string>> = {
  switchboard: 'switchboard|printf|call|notify|watch|batch',
  curl: 'curl',
  python: 'import|with|as|for|in|if|print|None|True|False',
  javascript: 'const|await|new|for|of|if|async|function|return',
  rust: 'use|async|fn|let|mut|while|for|in|Some|Ok|await|dyn|impl',
};

/** Comments begin so. */
const COMMENT: Readonly<Record<Language, string>> = { switchboard: '#', curl: '#', python: '#', javascript: '//', rust: '//' };

/** Strings with their escapes; in a shell, single quotes know none, and in Rust raw strings end with as many signs as they begin with. */
const STRING: Readonly<Record<Language, string>> = {
  switchboard: String.raw`'[^']*'|"(?:[^"\\]|\\.)*"|\b\w+://\S+`,
  curl: String.raw`'[^']*'|"(?:[^"\\]|\\.)*"|\b\w+://\S+`,
  python: String.raw`b?'(?:[^'\\]|\\.)*'|b?"(?:[^"\\]|\\.)*"`,
  javascript: String.raw`'(?:[^'\\]|\\.)*'`,
  rust: String.raw`r(?<signs>#*)"[^]*?"\k<signs>|"(?:[^"\\]|\\.)*"`,
};

/** The pieces of a program. */
export function coloured(text: string, language: Language): preact.ComponentChild[] {
  const comment = `(?<comment>(?<=^|\\s)${COMMENT[language]}[^\\n]*)`;
  const option = /^(switchboard|curl)$/.test(language) ? '(?<=\\s)--?[a-zA-Z][\\w-]*' : '(?!)';
  const pattern = `${comment}|(?<string>${STRING[language]})|(?<name>${option})|\\b(?<word>${WORDS[language]})\\b|\\b(?<number>\\d+)\\b`;
  const pieces: preact.ComponentChild[] = [];
  let at = 0;
  for (const { 0: whole, index, groups = {} } of text.matchAll(new RegExp(pattern, 'gm'))) {
    const kind = ['comment', 'string', 'name', 'word', 'number'].find((name) => groups[name] !== undefined);
    pieces.push(text.slice(at, index), <span class={`t-${kind}`}>{whole}</span>);
    at = index + whole.length;
  }
  return [...pieces, text.slice(at)];
}
