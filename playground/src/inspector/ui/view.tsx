/** The view of a tool (MCP Apps), in a frame from another origin that can run scripts and nothing else. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { theme } from '../../state/theme.js';
import { type Sent, isCurrent } from '../calls.js';
import { itemsOf } from '../catalog.js';
import { note } from '../events.js';
import { CallFailed } from '../link.js';
import { askToOpen } from '../questions.js';
import { call } from '../session.js';
import { ViewHost } from '../view-host.js';

const HEIGHT = 320;

type State = { readonly kind: 'loading' } | { readonly kind: 'ready'; readonly url: string } | { readonly kind: 'failed'; readonly why: string };

export function ToolView({ sent, uri, text }: { sent: Sent; uri: string; text: string }) {
  const [state, setState] = useState<State>({ kind: 'loading' });
  const [height, setHeight] = useState(HEIGHT);
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    let isGone = false;
    const host = hostOf(sent, text, frame, setHeight, (why) => setState({ kind: 'failed', why: `The view was closed. ${why}` }));
    const receive = (event: MessageEvent) => {
      // Its origin is opaque, like that of every sandboxed frame: only the window tells who sent it.
      if (frame.current && event.source === frame.current.contentWindow) host.receive(event.data);
    };
    window.addEventListener('message', receive);
    call('inspect/view', { uri }).then(
      (told) => !isGone && setState({ kind: 'ready', url: (JSON.parse(told) as { url: string }).url }),
      (error: unknown) => !isGone && setState({ kind: 'failed', why: error instanceof CallFailed ? error.message : String(error) }),
    );
    return () => {
      isGone = true;
      window.removeEventListener('message', receive);
    };
  }, [sent, uri, text]);
  if (state.kind === 'loading') return <p class="muted">Loading the view…</p>;
  if (state.kind === 'failed') return <p class="error-card">{state.why}</p>;
  return (
    <iframe
      class="view"
      ref={frame}
      title={`View of ${sent.title}`}
      sandbox="allow-scripts"
      referrerpolicy="no-referrer"
      height={height}
      src={state.url}
    />
  );
}

function hostOf(
  sent: Sent,
  text: string,
  frame: preact.RefObject<HTMLIFrameElement | null>,
  resize: (height: number) => void,
  close: (why: string) => void,
): ViewHost {
  const args: unknown = JSON.parse(sent.origin?.args ?? '{}');
  const isDark = theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return new ViewHost(
    {
      post: (message) => frame.current?.contentWindow?.postMessage(message, '*'),
      request: async (method, params) => {
        if (!isCurrent(sent)) throw new Error('the connection of this view has ended');
        return JSON.parse(await call('inspect/request', { method, params, key: null }, sent.signal)) as unknown;
      },
      mayCall: (tool) => itemsOf('tools').some((item) => item.name === tool && item.visibility.includes('app')),
      openLink: (url) => askToOpen(url, sent.title),
      log: (level, text) => note({ level, logger: sent.title, text }),
      resize,
      close,
      now: () => performance.now(),
      theme: isDark ? 'dark' : 'light',
    },
    { tool: sent.title, args, result: JSON.parse(text) as unknown },
  );
}
