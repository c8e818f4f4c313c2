/** The results of MCP, as they are meant to be seen. */

import { member, source } from '../../json/node.js';
import { parse } from '../../json/parse.js';
import { check } from '../../schema/check.js';
import { Empty } from '../../ui/controls.js';
import { JsonView } from '../../ui/json-view.js';
import { type Sent, isCurrent } from '../calls.js';
import { find } from '../catalog.js';
import { type Block, readBlocks } from '../content.js';
import { withPlace } from '../draft.js';
import type { Item } from '../items.js';
import { Content } from './content.js';
import { ToolView } from './view.js';

export function Rendered({ sent, text }: { sent: Sent; text: string }) {
  switch (sent.method) {
    case 'tools/call':
      return <ToolResult sent={sent} text={text} />;
    case 'resources/read':
      return <Blocks blocks={part(text, 'contents').flatMap((entry) => readBlocks(`[{"type":"resource","resource":${entry}}]`))} />;
    case 'prompts/get':
      return <Prompt text={text} />;
    default:
      return <JsonView text={text} label="Result as JSON" />;
  }
}

function ToolResult({ sent, text }: { sent: Sent; text: string }) {
  const structured = value(text, 'structuredContent');
  const blocks = readBlocks(value(text, 'content') ?? '[]');
  // Servers repeat what is structured as a text, for older clients.
  const others = structured === undefined ? blocks : blocks.filter((block) => block.type !== 'text' || !isSame(block.text, structured));
  const view = toolOf(sent)?.view;
  return (
    <>
      {view && <ToolView key={sent.key} sent={sent} uri={view} text={text} />}
      {value(text, 'isError') === 'true' && <p class="error-card">The tool failed. What it says is for the model to read.</p>}
      {others.length > 0 && <Blocks blocks={others} />}
      {structured !== undefined && <Structured sent={sent} text={structured} />}
      {others.length === 0 && structured === undefined && <Empty title="The result is empty" />}
    </>
  );
}

/** The tool that was called. Another server may have one of the same name, which must not get the result. */
function toolOf(sent: Sent): Item | undefined {
  return sent.origin && isCurrent(sent) ? find('tools', sent.origin.id) : undefined;
}

function Structured({ sent, text }: { sent: Sent; text: string }) {
  const schema = toolOf(sent)?.output;
  const { node } = parse(text);
  const wrong = node && schema !== undefined ? check(text, node, schema, schema) : [];
  return (
    <section class="structured" aria-label="Structured content">
      <h3>Structured content</h3>
      <JsonView text={text} label="Structured content as JSON" />
      {wrong.length > 0 && (
        <ul class="problems" aria-label="Problems">
          {wrong.map((problem) => (
            <li key={problem.message}>Does not match the output schema: {withPlace(problem)}</li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Prompt({ text }: { text: string }) {
  const { description } = JSON.parse(text) as { description?: string };
  return (
    <>
      {description && <p class="prose">{description}</p>}
      <ol class="messages" aria-label="Messages">
        {part(text, 'messages').map((message, at) => {
          const { role } = JSON.parse(message) as { role?: string };
          return (
            <li key={at}>
              <p class="role">{role}</p>
              <Blocks blocks={readBlocks(value(message, 'content') ?? '[]')} />
            </li>
          );
        })}
      </ol>
    </>
  );
}

export function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <div class="blocks">
      {blocks.map((block, at) => (
        <Content key={at} block={block} />
      ))}
    </div>
  );
}

/** The items of a member that is a list, as JSON text. */
function part(text: string, name: string): readonly string[] {
  const node = member(parse(text).node, name);
  return node?.kind === 'array' ? node.items.map((item) => source(text, item)) : [];
}

/** A member as JSON text. */
function value(text: string, name: string): string | undefined {
  const node = member(parse(text).node, name);
  return node && source(text, node);
}

function isSame(text: string, json: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(JSON.parse(json));
  } catch {
    return false;
  }
}
