/** What error codes mean, in plain words. */

/** The caller is not known, or not allowed. */
export const UNAUTHORIZED = -32002;

const MEANINGS: Readonly<Record<number, string>> = {
  [-32700]: 'The message is not valid JSON.',
  [-32600]: 'The message is JSON, but not a valid request.',
  [-32601]: 'The server has no method with this name.',
  [-32602]: 'The params do not match what the method expects.',
  [-32603]: 'The method failed with an internal error. The log of the server says why.',
  [-32001]: 'The params are well-formed, but the method does not accept their values.',
  [UNAUTHORIZED]: 'The caller is not allowed to do this.',
  [-32003]: 'The call timed out.',
  [-32004]: 'A server that this one depends on failed.',
  [-32005]: 'A limit of the server was exceeded. Send less, or try again later.',
  [-32007]: 'The result is larger than the server is allowed to send.',
  [-32008]: 'Items of the stream were lost.',
  [-32800]: 'The call was cancelled.',
};

/** What to do about a server that refuses callers it does not know. */
const LOCKED = 'The server requires valid credentials. Log in with a token or an API key.';

/** The meaning of a code, and of the HTTP status that it came with. */
export function meaning(code: number | undefined, status?: number): string {
  if (code === -32600 && status === 404) return 'The server serves nothing at this path. Check the path of the endpoint.';
  if (status === 401) return LOCKED;
  if (code === undefined) return 'The error has no code, although 2.0 requires one.';
  const known = MEANINGS[code];
  if (known !== undefined) return known;
  if (code >= -32099 && code <= -32000) return 'An error that this server defines.';
  if (code >= -32768 && code < -32000) return 'A reserved code without a defined meaning.';
  return 'An error that the application defines.';
}
