/**
 * The host's side of MCP Apps: what a view may ask for, over `postMessage`. A view is code of the server, so nothing that it sends is
 * trusted: its tools are those that the server gives to views, links need the consent of the user, and floods end it.
 */

/** What the host needs of the page around it. */
export interface Surroundings {
  readonly post: (message: unknown) => void;
  /** Sends a request to the server; gives the result. */
  readonly request: (method: string, params: unknown) => Promise<unknown>;
  /** Whether a view may call this tool. */
  readonly mayCall: (tool: string) => boolean;
  /** Asks the user whether to open a page, and opens it. */
  readonly openLink: (url: string) => Promise<boolean>;
  readonly log: (level: string, text: string) => void;
  readonly resize: (height: number) => void;
  /** The view misbehaved, and has to go. */
  readonly close: (why: string) => void;
  readonly now: () => number;
  readonly theme: 'light' | 'dark';
}

/** What the view is for. */
export interface Shown {
  readonly tool: string;
  readonly args: unknown;
  readonly result: unknown;
}

export const PROTOCOL = '2026-01-26';
/** Views are at least and at most as high. */
const LOW = 40;
const HIGH = 900;
/** Messages may be as long, as JSON text. */
const LONGEST = 1_000_000;
/** As many messages may come at once, and as many more in each second; a view that sends many more is closed. */
const BURST = 100;
const RATE = 50;
const PATIENCE = 500;
/** As many requests may wait for their answers. */
const OPEN = 20;

interface Message {
  readonly jsonrpc?: unknown;
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
}

class Refused extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export class ViewHost {
  private allowance = BURST;
  private last: number;
  private refused = 0;
  private open = 0;
  private isClosed = false;

  constructor(
    private readonly around: Surroundings,
    private readonly shown: Shown,
  ) {
    this.last = around.now();
  }

  /** Takes a message from the window of the view. */
  receive(data: unknown): void {
    if (this.isClosed || !this.admit(data)) return;
    const { jsonrpc, id, method, params } = data as Message;
    if (jsonrpc !== '2.0' || typeof method !== 'string') return;
    const given = typeof params === 'object' && params !== null ? params : {};
    if (typeof id === 'string' || typeof id === 'number') void this.answer(id, method, given);
    else this.hear(method, given);
  }

  /** Whether there is room for another message. */
  private admit(data: unknown): boolean {
    const now = this.around.now();
    this.allowance = Math.min(BURST, this.allowance + ((now - this.last) / 1000) * RATE);
    this.last = now;
    if (this.allowance >= 1 && typeof data === 'object' && data !== null && lengthOf(data) <= LONGEST) {
      this.allowance -= 1;
      return true;
    }
    this.refused += 1;
    if (this.refused > PATIENCE) {
      this.isClosed = true;
      this.around.close('It sent too many messages, or too long ones.');
    }
    return false;
  }

  private async answer(id: string | number, method: string, params: Readonly<Record<string, unknown>>): Promise<void> {
    let answer: object;
    this.open += 1;
    try {
      if (this.open > OPEN) throw new Refused(-32000, 'too many requests wait for their answers');
      answer = { result: await this.result(method, params) };
    } catch (error) {
      const code = error instanceof Refused ? error.code : -32000;
      answer = { error: { code, message: error instanceof Error ? error.message : String(error) } };
    } finally {
      this.open -= 1;
    }
    if (!this.isClosed) this.around.post({ jsonrpc: '2.0', id, ...answer });
  }

  private async result(method: string, params: Readonly<Record<string, unknown>>): Promise<unknown> {
    switch (method) {
      case 'ui/initialize':
        return this.initialized();
      case 'ping':
        return {};
      case 'tools/call': {
        const { name, arguments: args = {} } = params;
        if (typeof name !== 'string' || !this.around.mayCall(name)) throw new Refused(-32602, 'views may not call this tool');
        return this.around.request('tools/call', { name, arguments: args });
      }
      case 'resources/read':
        if (typeof params['uri'] !== 'string') throw new Refused(-32602, 'the URI is missing');
        return this.around.request('resources/read', { uri: params['uri'] });
      case 'ui/open-link':
        if (typeof params['url'] !== 'string' || !/^https:\/\//i.test(params['url']) || !URL.canParse(params['url'])) {
          throw new Refused(-32602, 'only https URLs can be opened');
        }
        if (!(await this.around.openLink(params['url']))) throw new Refused(-32000, 'the user did not open the link');
        return {};
      case 'ui/message':
      case 'ui/update-model-context':
        this.around.log('view', `${method}: ${text(params)}`);
        return {};
      case 'ui/request-display-mode':
        return { mode: 'inline' };
      default:
        throw new Refused(-32601, 'Method not found');
    }
  }

  private initialized(): unknown {
    return {
      protocolVersion: PROTOCOL,
      hostInfo: { name: 'switchboard-inspect', version: '1' },
      hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
      hostContext: { theme: this.around.theme, displayMode: 'inline', availableDisplayModes: ['inline'], platform: 'web' },
    };
  }

  private hear(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === 'ui/notifications/initialized') {
      this.notify('ui/notifications/tool-input', { arguments: this.shown.args });
      this.notify('ui/notifications/tool-result', this.shown.result);
    } else if (method === 'ui/notifications/size-changed') {
      const height = params['height'];
      if (typeof height === 'number' && Number.isFinite(height)) this.around.resize(Math.max(LOW, Math.min(HIGH, Math.ceil(height))));
    } else if (method === 'notifications/message') {
      this.around.log('view', text(params['data']));
    }
  }

  private notify(method: string, params: unknown): void {
    this.around.post({ jsonrpc: '2.0', method, params });
  }
}

function text(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value ?? null)).slice(0, 5000);
}

/** How long a message is as JSON; what is not JSON is too long. */
function lengthOf(data: object): number {
  try {
    return JSON.stringify(data).length;
  } catch {
    return Infinity;
  }
}
