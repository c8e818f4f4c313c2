/** Reads the body of a response as it arrives. */

/** The body is longer than it may be. */
export class TooLong extends Error {}

/** Whether the body is an event stream. */
export function isEvents(response: Response): boolean {
  return (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
}

/** Gives the body in pieces of text, up to a limit in bytes. An event stream needs none: it lasts as long as it is wanted. */
export async function pieces(response: Response, give: (piece: string) => void, limit = Infinity): Promise<void> {
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let length = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || !value) break;
    length += value.length;
    if (length > limit) throw new TooLong();
    give(decoder.decode(value, { stream: true }));
  }
  give(decoder.decode());
}
