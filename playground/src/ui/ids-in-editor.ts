/** Ids in colours in an editor, whose style sheets the page's do not reach. */

import { StateField } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view';
import { ID_COLOURS, idColour, idMarks } from '../rpc/ids.js';

export const idsInEditor = [
  StateField.define<DecorationSet>({
    create: (state) => decorations(state.doc.toString()),
    update: (old, change) => (change.docChanged ? decorations(change.newDoc.toString()) : old),
    provide: (field) => EditorView.decorations.from(field),
  }),
  EditorView.theme(
    Object.fromEntries(
      Array.from({ length: ID_COLOURS }, (_, at) => [
        `.id-${at}, .id-${at} *`,
        { color: `var(--id-${at})`, fontWeight: '700', textDecoration: 'underline 2px', textUnderlineOffset: '3px' },
      ]),
    ),
  ),
];

function decorations(text: string): DecorationSet {
  const marks = idMarks(text).filter(({ from, to }) => to > from);
  return Decoration.set(
    marks.map(({ from, to, id }) => Decoration.mark({ class: `id-${idColour(id)}` }).range(from, to)),
    true,
  );
}
