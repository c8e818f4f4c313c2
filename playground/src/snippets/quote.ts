/** Strings as Python and JavaScript both read them: in single quotes, so that JSON stays readable. */

const ESCAPED: Readonly<Record<string, string>> = {
  "'": "\\'",
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** The text in single quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll(/['\\\n\r\u2028\u2029]/g, (char) => ESCAPED[char] ?? char)}'`;
}
