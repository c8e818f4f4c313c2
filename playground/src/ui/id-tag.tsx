/** Ids in colours: the same id has the same colour wherever it stands. The id itself is always written, too. */

import { idColour } from '../rpc/ids.js';

/** An id, as JSON text. */
export function IdTag({ id }: { id: string }) {
  return (
    <span class={`id id-${idColour(id)}`} title={`id ${id}`}>
      {id}
    </span>
  );
}
