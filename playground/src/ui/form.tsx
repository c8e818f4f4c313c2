/** A form for the params of a method: another view of the same text that the editor shows. */

import { type TargetedInputEvent, createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { setItem, setMember } from '../json/edit.js';
import { member, source } from '../json/node.js';
import { parse } from '../json/parse.js';
import { type Param, itemsOf } from '../rpc/document.js';
import { type Choice, type Keywords, type Root, type Schema, choicesOf, resolve, types, withoutNull } from '../schema/schema.js';
import { sample } from '../schema/sample.js';
import { shortName } from '../schema/words.js';
import type { Path, Problem } from '../schema/check.js';
import { CloseIcon, PlusIcon } from './icons.js';

/** Values that are nested deeper are typed as JSON. */
const DEPTH = 3;

/** What is wrong with the values, for the controls. */
const Problems = createContext<readonly Problem[]>([]);

interface FormProps {
  readonly params: readonly Param[];
  readonly root: Root;
  readonly text: string;
  readonly onText: (text: string) => void;
}

export function Form({ isList = false, problems, ...props }: FormProps & { isList?: boolean; problems: readonly Problem[] }) {
  const { node } = parse(props.text);
  const Shape = (node ? node.kind === 'array' : isList) ? ListForm : NamedForm;
  return (
    <Problems.Provider value={problems}>
      <Shape {...props} />
    </Problems.Provider>
  );
}

function NamedForm({ params, root, text, onText }: FormProps) {
  const { node } = parse(text);
  const set = (name: string, value: string | undefined) => onText(setMember(text, name, value));
  return (
    <div class="form">
      {params.map((param) => {
        const value = member(node, param.name);
        const json = value ? source(text, value) : undefined;
        const change = (value: string | undefined) => set(param.name, value);
        return <Labelled key={param.name} param={param} path={[param.name]} root={root} text={json} onText={change} />;
      })}
    </div>
  );
}

function ListForm({ params, root, text, onText }: FormProps) {
  const { node } = parse(text);
  const items = node?.kind === 'array' ? node.items.map((item) => source(text, item)) : [];
  return (
    <div class="form">
      {params.map((param, at) => {
        if (!param.rest) {
          const set = (value: string | undefined) => onText(setItem(text, at, value ?? (at < items.length - 1 ? 'null' : undefined)));
          return <Labelled key={param.name} param={param} path={[at]} root={root} text={items[at]} onText={set} />;
        }
        const join = (rest: string) => {
          const { node } = parse(rest);
          const values = node?.kind === 'array' ? node.items.map((item) => source(rest, item)) : [];
          onText(`[${[...items.slice(0, at), ...values].join(', ')}]`);
        };
        const rest: Param = { ...param, schema: { type: 'array', items: itemsOf(param.schema) } };
        return (
          <Labelled
            key={param.name}
            param={rest}
            path={[]}
            first={at}
            root={root}
            text={`[${items.slice(at).join(',')}]`}
            onText={(value) => join(value ?? '[]')}
          />
        );
      })}
    </div>
  );
}

interface Slot {
  readonly root: Root;
  /** The path to the value in the params. */
  readonly path: Path;
  /** For a list whose items are params themselves: the index of the first. */
  readonly first?: number;
  /** JSON text; undefined if there is no value. */
  readonly text: string | undefined;
  readonly onText: (text: string | undefined) => void;
}

/** What a value may be, in a few words beside its name. */
function kindOf(schema: Schema | undefined, root: Root): string {
  const choices = choicesOf(withoutNull(resolve(schema, root), root), root);
  return choices && choices.length > 2 ? `one of ${choices.length}` : shortName(schema, root);
}

function Labelled({ param, ...slot }: Slot & { param: Param }) {
  const { root } = slot;
  const id = `param-${param.name}`;
  const hint = param.description || (typeof param.schema === 'object' ? resolve(param.schema, root).description : '') || '';
  return (
    <div class="field">
      <label for={id}>
        <span class="field-name">{param.name}</span>{' '}
        <span class="field-type">
          {kindOf(param.schema, root)}
          {!param.required && !param.rest && ', optional'}
        </span>
      </label>
      <Value id={id} schema={param.schema} {...slot} required={param.required} depth={0} />
      {hint && <p class="field-hint">{hint}</p>}
    </div>
  );
}

interface ValueProps extends Slot {
  readonly id: string;
  readonly schema: Schema | undefined;
  readonly required: boolean;
  readonly depth: number;
}

const YES_OR_NO: readonly Choice[] = [
  { json: 'true', description: '' },
  { json: 'false', description: '' },
];

/** The control for a value, by its schema. */
function Value(props: ValueProps) {
  const { root, depth } = props;
  const schema = withoutNull(resolve(props.schema, root), root);
  const kinds = types(schema);
  const choices = kinds.length === 1 && kinds[0] === 'boolean' ? YES_OR_NO : choicesOf(schema, root);
  if (choices) return <Choices {...props} choices={choices} />;
  if (depth < DEPTH && schema.properties && Object.keys(schema.properties).length > 0) return <Members {...props} known={schema} />;
  if (depth < DEPTH && kinds[0] === 'array' && kinds.length === 1 && !Array.isArray(schema.items))
    return <Items {...props} known={schema} />;
  const kind = kinds.length === 1 ? kinds[0] : undefined;
  return (
    <Typed {...props} kind={kind === 'number' || kind === 'integer' ? 'number' : kind === 'string' ? 'string' : 'any'} known={schema} />
  );
}

function Choices({ id, path, text, onText, required, choices }: ValueProps & { choices: readonly Choice[] }) {
  const marks = useMarks(id, path);
  const value = text?.trim();
  const isKnown = value !== undefined && choices.some((choice) => choice.json === value);
  return (
    <>
      <select id={id} value={value ?? ''} onChange={(event) => onText(event.currentTarget.value || undefined)} {...marks}>
        {(!required || value === undefined) && <option value="">{required ? 'Choose…' : 'Not sent'}</option>}
        {value !== undefined && !isKnown && <option value={value}>{value}</option>}
        {choices.map(({ json, description }) => (
          <option key={json} value={json}>
            {json.replace(/^"(.*)"$/, '$1') + (description && ` – ${description}`)}
          </option>
        ))}
      </select>
      <FieldProblems id={id} path={path} />
    </>
  );
}

/** What is wrong with a value, and, unless each of its parts has a control, with what is inside it. */
function useProblems(path: Path, isGroup = false): readonly string[] {
  const isAt = (other: Path) =>
    path.every((step, at) => String(other[at]) === String(step)) && !(isGroup && (path.length === 0 || other.length > path.length));
  return useContext(Problems).filter((problem) => isAt(problem.path)).map((problem) => problem.message);
}

/** The attributes of a control whose value is wrong. */
function useMarks(id: string, path: Path) {
  return useProblems(path).length > 0 ? { 'aria-invalid': true, 'aria-describedby': `${id}-problem` } : {};
}

function FieldProblems({ id, path, isGroup = false }: { id: string; path: Path; isGroup?: boolean }) {
  const messages = useProblems(path, isGroup);
  if (messages.length === 0) return null;
  return (
    <p id={`${id}-problem`} class="field-problem">
      {messages.join('; ')}
    </p>
  );
}

function Members({ id, path, root, text, onText, depth, known }: ValueProps & { known: Keywords }) {
  const whole = text ?? '{}';
  const { node } = parse(whole);
  return (
    <div class="nested" role="group" id={id}>
      {Object.entries(known.properties ?? {}).map(([name, schema]) => {
        const value = member(node, name);
        const required = known.required?.includes(name) === true;
        return (
          <div class="field" key={name}>
            <label for={`${id}-${name}`}>
              <span class="field-name">{name}</span>{' '}
              <span class="field-type">
                {kindOf(schema, root)}
                {!required && ', optional'}
              </span>
            </label>
            <Value
              id={`${id}-${name}`}
              path={[...path, name]}
              schema={schema}
              root={root}
              text={value ? source(whole, value) : undefined}
              onText={(value) => onText(setMember(whole, name, value))}
              required={required}
              depth={depth + 1}
            />
          </div>
        );
      })}
      <FieldProblems id={id} path={path} isGroup />
    </div>
  );
}

function Items({ id, path, first, root, text, onText, depth, known }: ValueProps & { known: Keywords }) {
  const whole = text ?? '[]';
  const { node } = parse(whole);
  const items = node?.kind === 'array' ? node.items.map((item) => source(whole, item)) : [];
  const each = known.items as Schema | undefined;
  return (
    <div class="nested" role="group" id={id}>
      {items.map((item, at) => (
        <div class="item" key={at}>
          <div class="item-value">
            <Value
              id={`${id}-${at}`}
              path={first === undefined ? [...path, at] : [first + at]}
              schema={each}
              root={root}
              text={item}
              onText={(value) => onText(setItem(whole, at, value ?? 'null'))}
              required
              depth={depth + 1}
            />
          </div>
          <button
            type="button"
            class="icon-button"
            aria-label={`Remove item ${at + 1}`}
            onClick={() => onText(setItem(whole, at, undefined))}
          >
            <CloseIcon />
          </button>
        </div>
      ))}
      <button type="button" class="quiet small" onClick={() => onText(setItem(whole, items.length, sample(each, root)))}>
        <PlusIcon /> Add item
      </button>
      <FieldProblems id={id} path={path} isGroup />
    </div>
  );
}

interface TypedProps extends ValueProps {
  readonly kind: 'string' | 'number' | 'any';
  readonly known: Keywords;
}

/** One line that is typed. While it is, it is left as it is typed. */
function Typed({ id, path, text, onText, required, kind, known }: TypedProps) {
  const [typed, setTyped] = useState<string | undefined>(undefined);
  const marks = useMarks(id, path);
  const hint = known.default !== undefined ? JSON.stringify(known.default) : kind === 'any' ? 'Any JSON' : required ? '' : 'Not sent';
  const input = (event: TargetedInputEvent<HTMLInputElement>) => {
    const value = event.currentTarget.value;
    setTyped(value);
    onText(toJson(value, kind, required));
  };
  return (
    <>
      <input
        id={id}
        class={kind === 'string' ? '' : 'mono'}
        type="text"
        autocomplete="off"
        spellcheck={false}
        inputMode={kind === 'number' ? 'decimal' : 'text'}
        aria-label={/-\d+$/.test(id) ? `Item ${Number(/(\d+)$/.exec(id)![1]) + 1}` : undefined}
        placeholder={hint}
        value={typed ?? toTyped(text, kind)}
        onInput={input}
        onBlur={() => setTyped(undefined)}
        {...marks}
      />
      <FieldProblems id={id} path={path} />
    </>
  );
}

/** What was typed, as JSON. Where a number is expected and something else was typed, a string: then the field says what is wrong. */
export function toJson(typed: string, kind: 'string' | 'number' | 'any', required: boolean): string | undefined {
  if (typed === '' && !(required && kind === 'string')) return undefined;
  if (kind === 'string') return JSON.stringify(typed);
  const { node } = parse(typed);
  return node && (kind === 'any' || node.kind === 'number') ? typed.trim() : JSON.stringify(typed);
}

/** JSON as it would be typed. */
export function toTyped(text: string | undefined, kind: 'string' | 'number' | 'any'): string {
  if (text === undefined) return '';
  const { node } = parse(text);
  if (node?.kind !== 'string') return text;
  const isPlain = kind !== 'any' || (parse(node.value).node === undefined && node.value !== '');
  return isPlain ? node.value : text;
}
