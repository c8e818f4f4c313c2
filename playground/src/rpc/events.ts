/** Reads server-sent events, piece by piece. */

/** Gives the data of each event; comments and other fields are passed over. */
export class EventReader {
  private rest = '';
  private data: string[] = [];
  private isFirst = true;

  constructor(private readonly onData: (data: string) => void) {}

  /** Takes the next piece of text, cut anywhere. */
  push(piece: string): void {
    if (this.isFirst && piece !== '') {
      this.isFirst = false;
      if (piece.startsWith('\uFEFF')) piece = piece.slice(1);
    }
    this.rest += piece;
    // A CR at the end may be half of a CRLF.
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? '';
    for (const line of lines) this.line(line);
  }

  private line(line: string): void {
    if (line === '') {
      if (this.data.length > 0) this.onData(this.data.join('\n'));
      this.data = [];
      return;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    if (field === 'data') this.data.push(colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, ''));
  }
}
