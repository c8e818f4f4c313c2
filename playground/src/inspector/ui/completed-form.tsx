/** A form of texts, which the server may complete: the arguments of a prompt, or the variables of a resource template. */

import { useEffect, useState } from 'preact/hooks';
import { setMember } from '../../json/edit.js';
import type { Param } from '../../rpc/document.js';
import { args, setArgs, textsOf } from '../draft.js';
import type { Item } from '../items.js';
import { call, has } from '../session.js';

/** How long typing pauses before the server is asked. */
const PAUSE = 150;

export function CompletedForm({ item }: { item: Item }) {
  return (
    <div class="form">
      {item.params.map((param) => (
        <Field key={param.name} item={item} param={param} />
      ))}
    </div>
  );
}

function Field({ item, param }: { item: Item; param: Param }) {
  const [values, setValues] = useState<readonly string[]>([]);
  const [isActive, setActive] = useState(false);
  const text = textsOf(args.value)[param.name] ?? '';
  const id = `argument-${param.name}`;
  useEffect(() => {
    if (!isActive || !has('completions')) return;
    const controller = new AbortController();
    const timer = setTimeout(() => void complete(item, param.name, text, controller.signal).then(setValues, () => setValues([])), PAUSE);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [isActive, item, param.name, text]);
  return (
    <div class="field">
      <label for={id}>
        <span class="field-name">{param.name}</span> <span class="field-type">{param.required ? 'text' : 'text, optional'}</span>
      </label>
      <input
        id={id}
        type="text"
        autocomplete="off"
        spellcheck={false}
        list={`${id}-values`}
        value={text}
        onFocus={() => setActive(true)}
        onBlur={() => setActive(false)}
        onInput={(event) => {
          const value = event.currentTarget.value;
          setArgs(setMember(args.value, param.name, value === '' ? undefined : JSON.stringify(value)));
        }}
      />
      <datalist id={`${id}-values`}>
        {values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      {param.description && <p class="field-hint">{param.description}</p>}
    </div>
  );
}

/** The values that the server proposes. */
async function complete(item: Item, name: string, value: string, signal: AbortSignal): Promise<readonly string[]> {
  const ref = item.kind === 'prompts' ? { type: 'ref/prompt', name: item.id } : { type: 'ref/resource', uri: item.id };
  const { [name]: _, ...others } = textsOf(args.value);
  const params = { ref, argument: { name, value }, context: { arguments: others } };
  const told = JSON.parse(await call('inspect/request', { method: 'completion/complete', params }, signal)) as {
    completion?: { values?: readonly string[] };
  };
  return told.completion?.values ?? [];
}
