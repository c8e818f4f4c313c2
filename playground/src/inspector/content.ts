/** Content blocks: texts, images, audio, resources and links, read from what a server sent. */

import { source } from '../json/node.js';
import { parse } from '../json/parse.js';

export type Block =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image' | 'audio'; readonly mimeType: string; readonly data: string }
  | { readonly type: 'link'; readonly uri: string; readonly name: string; readonly description: string; readonly mimeType: string }
  | { readonly type: 'resource'; readonly uri: string; readonly mimeType: string; readonly text: string }
  | { readonly type: 'blob'; readonly uri: string; readonly mimeType: string; readonly data: string }
  /** Anything else, as JSON text. */
  | { readonly type: 'other'; readonly json: string };

/** What browsers show as an image, without running any of it. */
const IMAGES = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)$/;
const SOUNDS = /^audio\/[a-z0-9.+-]+$/;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

/** The blocks of a list, or the one that is none. */
export function readBlocks(json: string): readonly Block[] {
  const { node } = parse(json);
  if (node?.kind === 'object') return [readBlock(json)];
  return node?.kind === 'array' ? node.items.map((item) => readBlock(source(json, item))) : [];
}

function readBlock(json: string): Block {
  const value = JSON.parse(json) as Readonly<Record<string, unknown>> | null;
  const text = (name: string, from = value) => (typeof from?.[name] === 'string' ? (from[name] as string) : '');
  switch (value?.['type']) {
    case 'text':
      return { type: 'text', text: text('text') };
    case 'image':
    case 'audio':
      return { type: value['type'], mimeType: text('mimeType'), data: text('data') };
    case 'resource_link':
      return { type: 'link', uri: text('uri'), name: text('title') || text('name'), description: text('description'), mimeType: text('mimeType') };
    case 'resource': {
      const resource = value['resource'] as Readonly<Record<string, unknown>> | null;
      const about = { uri: text('uri', resource), mimeType: text('mimeType', resource) };
      if (typeof resource?.['blob'] === 'string') return { type: 'blob', ...about, data: resource['blob'] };
      return { type: 'resource', ...about, text: text('text', resource) };
    }
    default:
      return { type: 'other', json };
  }
}

/** The URL of data that the page may show, or undefined if it may not. */
export function dataUrl(mimeType: string, data: string): string | undefined {
  const type = mimeType.toLowerCase().split(';')[0]!.trim();
  return (IMAGES.test(type) || SOUNDS.test(type)) && BASE64.test(data) ? `data:${type};base64,${data.replace(/\s/g, '')}` : undefined;
}

export function isImage(mimeType: string): boolean {
  return IMAGES.test(mimeType.toLowerCase().split(';')[0]!.trim());
}

/** The bytes of base64, or undefined if it is none. */
export function bytesOf(data: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(data.replace(/\s/g, '')), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
