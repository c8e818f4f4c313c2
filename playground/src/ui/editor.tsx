/**
 * The editor for JSON, with completion and marks where something is wrong.
 *
 * It lives in a shadow root: there CodeMirror adopts its style sheets instead of writing them into the page, which the
 * page's policy would refuse. Colours come through as CSS variables.
 */

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { HighlightStyle, bracketMatching, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint';
import { EditorState, type Extension, Prec } from '@codemirror/state';
import { EditorView, drawSelection, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Problem } from '../schema/check.js';
import { type Known, complete } from './completion.js';

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--t-name)' },
  { tag: tags.string, color: 'var(--t-string)' },
  { tag: tags.number, color: 'var(--t-number)' },
  { tag: [tags.bool, tags.null], color: 'var(--t-word)' },
]);

const look = EditorView.theme({
  '&': { fontSize: '13px', color: 'var(--text)', backgroundColor: 'transparent' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--mono)',
    fontVariantLigatures: 'none',
    lineHeight: '1.6',
    maxHeight: 'var(--editor-height, 40vh)',
    overflow: 'auto',
  },
  '.cm-content': { padding: '10px 0', caretColor: 'var(--accent)', minHeight: 'var(--editor-least, 4.8em)' },
  '.cm-line': { padding: '0 12px' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '2px' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--selection)',
  },
  '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--selection)', color: 'inherit' },
  '&:not(.cm-focused) .cm-matchingBracket': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-nonmatchingBracket, &:not(.cm-focused) .cm-nonmatchingBracket': { backgroundColor: 'transparent' },
  '.cm-placeholder': { color: 'var(--muted)' },
  '.cm-tooltip': {
    backgroundColor: 'var(--raised)',
    color: 'var(--text)',
    border: '1px solid var(--line)',
    borderRadius: '8px',
    boxShadow: 'var(--shadow)',
    overflow: 'hidden',
  },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', fontSize: '13px' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '4px 10px' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionDetail': { fontStyle: 'normal', opacity: '0.75', marginLeft: '1em' },
  '.cm-tooltip.cm-completionInfo': { padding: '6px 10px', fontFamily: 'var(--sans)', fontSize: '13px' },
  '.cm-diagnostic': { padding: '6px 10px', borderLeft: '3px solid var(--bad)', fontFamily: 'var(--sans)' },
  '.cm-diagnostic-info': { borderLeftColor: 'var(--accent)' },
  '.cm-lintRange-info': { backgroundImage: 'none', textDecoration: 'underline dotted var(--accent) 2px', textUnderlineOffset: '3px' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad) 1px', textUnderlineOffset: '3px' },
});

interface Props {
  readonly label: string;
  /**
   * The text. It is followed at once, not when the page is next drawn: fast typing would otherwise be overwritten with
   * an older text.
   */
  readonly text: { value: string; peek: () => string };
  /** What is written, when nothing is. */
  readonly hint?: string;
  /** What is known about the text, for completion. */
  readonly known?: () => Known | undefined;
  /** Those that are advice only break no rule. */
  readonly problems?: readonly (Pick<Problem, 'from' | 'to' | 'message'> & { readonly isBreach?: boolean })[];
  /** What this editor has beyond others; the same for as long as it lives. */
  readonly extra?: Extension;
}

export function Editor({ label, text, hint = '', known, problems, extra = [] }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | undefined>(undefined);
  const latest = useRef(known);
  latest.current = known;

  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: 'open' });
    const extensions = [
      // The page sends; the editor only must not break the line.
      Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => true }])),
      history(),
      drawSelection(),
      json(),
      syntaxHighlighting(colours),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ override: [(context) => complete(context, latest.current?.())], icons: false }),
      // What is wrong is found elsewhere; this shows it where the pointer is.
      linter(null),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap]),
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'false', autocapitalize: 'off' }),
      placeholder(hint),
      look,
      extra,
      EditorView.updateListener.of((update) => {
        if (update.docChanged) text.value = update.state.doc.toString();
      }),
    ];
    const made = new EditorView({ root, parent: root, state: EditorState.create({ doc: text.peek(), extensions }) });
    editor.current = made;
    const unfollow = effect(() => {
      const insert = text.value;
      if (made.state.doc.toString() !== insert) made.dispatch({ changes: { from: 0, to: made.state.doc.length, insert } });
    });
    return () => {
      unfollow();
      made.destroy();
    };
  }, [label, hint, text]);

  useEffect(() => {
    const view = editor.current;
    if (view) view.dispatch(setDiagnostics(view.state, diagnostics(problems, view.state.doc.length)));
  }, [problems]);

  return <div class="editor" ref={host} />;
}

function diagnostics(problems: Props['problems'] = [], length: number): Diagnostic[] {
  const within = (at: number) => Math.min(at, length);
  return problems.map(({ from, to, message, isBreach }) => ({
    from: within(from),
    to: within(to),
    message,
    severity: isBreach === false ? 'info' : 'error',
  }));
}
