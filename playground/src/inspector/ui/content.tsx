/** One content block. Nothing in it can run, or load anything. */

import { useState } from 'preact/hooks';
import { parse } from '../../json/parse.js';
import { amount } from '../../ui/amounts.js';
import { JsonView } from '../../ui/json-view.js';
import { saveFile } from '../../ui/save.js';
import { send } from '../calls.js';
import { type Block, bytesOf, dataUrl, isImage } from '../content.js';

export function Content({ block }: { block: Block }) {
  switch (block.type) {
    case 'text':
      return <Text text={block.text} />;
    case 'image':
    case 'audio':
      return <Media mimeType={block.mimeType} data={block.data} isAudio={block.type === 'audio'} />;
    case 'link':
      return <Link {...block} />;
    case 'resource':
      return (
        <figure class="block">
          <Caption uri={block.uri} mimeType={block.mimeType} />
          <Text text={block.text} />
        </figure>
      );
    case 'blob':
      return (
        <figure class="block">
          <Caption uri={block.uri} mimeType={block.mimeType} />
          <Media mimeType={block.mimeType} data={block.data} isAudio={block.mimeType.startsWith('audio/')} name={block.uri} />
        </figure>
      );
    case 'other':
      return <JsonView text={block.json} label="Content as JSON" />;
  }
}

/** A text; one that is JSON is shown as that. */
function Text({ text }: { text: string }) {
  const kind = text.length < 1_000_000 && /^\s*[[{]/.test(text) ? parse(text).node?.kind : undefined;
  if (kind === 'object' || kind === 'array') return <JsonView text={text} label="Text as JSON" />;
  return <pre class="text">{text}</pre>;
}

function Media({ mimeType, data, isAudio, name = '' }: { mimeType: string; data: string; isAudio: boolean; name?: string }) {
  const [isBroken, setBroken] = useState(false);
  const url = dataUrl(mimeType, data);
  const bytes = bytesOf(data);
  const isShown = url !== undefined && !isBroken && (isAudio || isImage(mimeType));
  return (
    <div class="media">
      {isShown && !isAudio && <img src={url} alt={`Image of type ${mimeType}`} onError={() => setBroken(true)} />}
      {isShown && isAudio && <audio controls src={url} aria-label={`Audio of type ${mimeType}`} />}
      <p class="muted media-line">
        {isBroken && <span class="bad">This cannot be shown. </span>}
        <span class="mono">{mimeType || 'no type'}</span>
        {bytes ? `, ${amount(bytes.length)}` : ', not base64'}
        {bytes && (
          <button type="button" class="quiet small" onClick={() => saveFile(fileName(name, mimeType), 'application/octet-stream', bytes)}>
            Save
          </button>
        )}
      </p>
    </div>
  );
}

function Link({ uri, name, description, mimeType }: Block & { type: 'link' }) {
  return (
    <div class="block resource-link">
      <p>
        <b>{name || uri}</b> {mimeType && <span class="badge">{mimeType}</span>}
      </p>
      {description && <p class="muted">{description}</p>}
      <p class="mono muted uri">{uri}</p>
      <div>
        <button type="button" class="small" onClick={() => send('resources/read', JSON.stringify({ uri }), uri)}>
          Read resource
        </button>
      </div>
    </div>
  );
}

function Caption({ uri, mimeType }: { uri: string; mimeType: string }) {
  return (
    <figcaption class="caption">
      <span class="mono uri">{uri}</span> {mimeType && <span class="badge">{mimeType}</span>}
    </figcaption>
  );
}

/** A name for a file, from the end of a URI. */
function fileName(uri: string, mimeType: string): string {
  const last = uri.split(/[/\\?#]/).filter(Boolean).at(-1)?.replaceAll(/[^\w.-]/g, '_');
  return last && last.includes('.') ? last : `${last || 'content'}.${mimeType.split(/[/+;]/)[1] ?? 'bin'}`;
}
