/** What error codes mean, in plain words. */

const MEANINGS: Readonly<Record<number, string>> = {
  [-32700]: 'The text that was sent is not JSON.',
  [-32600]: 'It is JSON, but no request that the protocol knows.',
  [-32601]: 'There is no method of this name.',
  [-32602]: 'The params do not fit the method.',
  [-32603]: 'The method failed inside; its server logs why.',
  [-32001]: 'The values were read, and the method does not take them.',
  [-32002]: 'The caller may not do this.',
  [-32003]: 'It took longer than it may.',
  [-32004]: 'A server behind this one failed.',
  [-32005]: 'It is over a limit of the server; try less, or later.',
  [-32007]: 'The reply is longer than the server sends.',
  [-32008]: 'Items of the stream were lost.',
  [-32800]: 'The call was cancelled.',
};

/** The meaning of a code. */
export function meaning(code: number | undefined): string {
  if (code === undefined) return 'The error has no code, which 2.0 asks for.';
  const known = MEANINGS[code];
  if (known !== undefined) return known;
  if (code >= -32099 && code <= -32000) return 'An error that this server defines.';
  if (code >= -32768 && code < -32000) return 'A reserved code that the protocol has not given a meaning.';
  return 'An error of the application.';
}
