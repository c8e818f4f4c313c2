/** What `rpc.discover` answers with: an OpenRPC document, read into what the playground shows. */

import type { Root, Schema } from '../schema/schema.js';

/** A method that can be called. */
export interface Method {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly params: readonly Param[];
  /** How params may be sent. */
  readonly structure: 'either' | 'by-name' | 'by-position';
  /** What it answers with; none means that it is only notified. */
  readonly result: Schema | undefined;
  readonly errors: readonly ErrorDoc[];
  readonly marks: readonly Mark[];
  /** Params of an example, as JSON text. */
  readonly example: string | undefined;
  readonly tags: readonly string[];
  /** Its params are not described: any may be sent. */
  readonly isOpen: boolean;
  /** It ignores named params that it does not know. */
  readonly takesOthers: boolean;
  /** It makes the server push, on a connection that stays open. */
  readonly pushes: boolean;
  /** Why it is not to be used any more. */
  readonly deprecated: string | undefined;
  /** The name of the tool that clients of MCP see. */
  readonly tool: string | undefined;
}

export type Mark = 'safe' | 'idempotent' | 'stream' | 'subscription' | 'deprecated';

export interface Param {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly schema: Schema;
  /** It takes all that is left of a list. */
  readonly rest: boolean;
}

export interface ErrorDoc {
  readonly code: number;
  readonly message: string;
}

/** A document, with what its references are looked up in. */
export interface Catalog {
  readonly title: string;
  readonly version: string;
  readonly methods: readonly Method[];
  readonly root: Root;
}

type Json = Record<string, unknown>;

/** The document, as far as it is one; methods that cannot be read are left out. */
export function readDocument(value: unknown): Catalog {
  const root = object(value);
  const info = object(root.info);
  const methods = list(root.methods)
    .map((method) => readMethod(deref(method, root), root))
    .filter((method) => method.name !== '');
  return { title: text(info.title), version: text(info.version), methods, root };
}

function readMethod(method: Json, root: Json): Method {
  // One that streams only to those who want that is shown by its value.
  const stream = object(method['x-stream']).optional === true ? undefined : method['x-stream'];
  const subscription = object(method['x-subscription']);
  const deprecated = method.deprecated === true ? text(method['x-deprecated-reason']) : undefined;
  const marks: Mark[] = [];
  if (method['x-safe'] === true) marks.push('safe');
  if (method['x-idempotent'] === true && method['x-safe'] !== true) marks.push('idempotent');
  if (method['x-subscription'] !== undefined) marks.push('subscription');
  else if (stream !== undefined) marks.push('stream');
  if (deprecated !== undefined) marks.push('deprecated');
  const params = list(method.params).map((param) => readParam(deref(param, root)));
  const result = deref(method.result, root).schema as Schema | undefined;
  const tags = list(method.tags).map((tag) => text(deref(tag, root).name));
  const structure = method.paramStructure;
  return {
    name: text(method.name),
    summary: text(method.summary),
    description: text(method.description),
    params,
    structure: structure === 'by-name' || structure === 'by-position' ? structure : 'either',
    result: (object(stream).item ?? subscription.item ?? result) as Schema | undefined,
    errors: list(method.errors).map((error) => readError(deref(error, root))),
    marks,
    example: readExample(method, params, root),
    tags,
    isOpen: method['x-unknown-params'] === true,
    takesOthers: method['x-additional-params'] === true,
    pushes: tags.includes('pushes'),
    deprecated,
    tool: text(object(method['x-mcp']).tool) || undefined,
  };
}

function readParam(param: Json): Param {
  return {
    name: text(param.name),
    description: text(param.description) || text(param.summary),
    required: param.required === true,
    schema: (param.schema ?? true) as Schema,
    rest: param['x-variadic'] === true,
  };
}

function readError(error: Json): ErrorDoc {
  return { code: Number(error.code), message: text(error.message) };
}

/** The params of the first example, by name where that is possible. */
function readExample(method: Json, params: readonly Param[], root: Json): string | undefined {
  const first = list(method.examples)[0];
  if (first === undefined) return undefined;
  const given = list(deref(first, root).params).map((example) => deref(example, root));
  if (method.paramStructure === 'by-position') return JSON.stringify(given.map((example) => example.value));
  const entries = given.map((example, at) => [params[at]?.name ?? text(example.name), example.value]);
  return JSON.stringify(Object.fromEntries(entries));
}

/** The object itself, or what it refers to within the document. */
function deref(value: unknown, root: Json): Json {
  const given = object(value);
  if (typeof given.$ref !== 'string' || !given.$ref.startsWith('#/')) return given;
  let place: unknown = root;
  for (const part of given.$ref.slice(2).split('/')) {
    place = object(place)[part.replaceAll('~1', '/').replaceAll('~0', '~')];
  }
  return object(place);
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The schema of all params of a method, by name and by position, for the editor. */
export function paramsSchema(method: Method, isPositional: boolean): Schema {
  const { params } = method;
  const schemas = params.map((param) => described(param));
  if (isPositional) {
    const last = params.at(-1);
    const fixed = last?.rest ? schemas.slice(0, -1) : schemas;
    const further = last?.rest ? itemsOf(last.schema) : false;
    const needed = params.filter((param) => param.required && !param.rest).length;
    return { type: 'array', items: fixed, additionalItems: further, minItems: needed, ...(last?.rest ? {} : { maxItems: fixed.length }) };
  }
  return {
    type: 'object',
    properties: { [META]: ANY_META, ...Object.fromEntries(params.map((param, at) => [param.name, schemas[at]!])) },
    required: params.filter((param) => param.required).map((param) => param.name),
    additionalProperties: method.takesOthers,
  };
}

/** The named param that every method accepts: metadata of protocols on top of JSON-RPC. */
const META = '_meta';
const ANY_META: Schema = { default: {}, description: 'Metadata beside the params, which methods ignore' };

function described(param: Param): Schema {
  if (typeof param.schema !== 'object' || param.schema.$ref !== undefined) return param.schema;
  return { description: param.description, ...param.schema };
}

/** What each element of a list may be. */
export function itemsOf(schema: Schema): Schema {
  const items = typeof schema === 'object' ? schema.items : undefined;
  return items === undefined || Array.isArray(items) ? true : (items as Schema);
}
