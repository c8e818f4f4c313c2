/** The request as a program. */

import { signal } from '@preact/signals';
import { compact } from '../json/print.js';
import { type Intent, compose, composeBatch } from '../rpc/message.js';
import { LANGUAGES, type Language, type Plan, secretOf } from '../snippets/snippet.js';
import type { Mark } from '../rpc/document.js';
import { methods } from '../state/catalog.js';
import { brokenText, intent, view } from '../state/draft.js';
import { isSentAsWritten, message, requests } from '../state/message.js';
import { headers } from '../state/access.js';
import { target, transport, version } from '../state/settings.js';
import { tray } from '../state/tray.js';
import { Empty, Segmented } from './controls.js';
import { coloured } from './colours.js';
import { CopyButton } from './copy.js';

const language = signal<Language>('switchboard');

export function Code() {
  const plan = planned();
  const chosen = LANGUAGES.find(({ value }) => value === language.value)!;
  if (!plan) {
    return (
      <Empty title="No method chosen">
        <p>Choose a method to see its call as code.</p>
      </Empty>
    );
  }
  const text = chosen.write(plan);
  const variables = plan.headers.flatMap(({ secret }) => (secret ? [secret.variable] : []));
  return (
    <section class="code" aria-label="Code">
      <div class="result-tools">
        <Segmented label="Language" choices={LANGUAGES} value={language.value} onChoose={(value) => (language.value = value)} />
        <span class="spacer" />
        <CopyButton text={text} what="Code" />
      </div>
      <pre class="json exact" tabIndex={0} role="region" aria-label="Code">
        <code>{coloured(text, chosen.value)}</code>
      </pre>
      {variables.length > 0 && <p class="muted">Set {variables.join(' and ')} in the environment first. Code never contains secrets.</p>}
      {tray.value.length > 0 && view.value === 'call' && !isSentAsWritten.value && (
        <p class="muted">This is the code for the batch of {tray.value.length}.</p>
      )}
    </section>
  );
}

/** The request being prepared: the batch, if there is one. */
function planned(): Plan | undefined {
  const isText = isSentAsWritten.value;
  const collected = tray.value.length > 0 ? tray.value.map((entry) => entry.intent) : [intent.value];
  const intents: readonly Intent[] = isText ? requests.value : collected;
  if (view.value === 'call' && intents.some((intent) => intent.method.trim() === '')) return undefined;
  const texts = intents.map((intent, at) => compose(intent, String(at + 1)));
  const composed = tray.value.length > 0 ? composeBatch(texts) : texts[0]!;
  const body = view.value === 'broken' ? brokenText.value : isText ? message.value : composed;
  const known = (name: string) => methods.value.find((method) => method.name === name);
  const isStream = (marks: readonly Mark[] = []) => marks.includes('stream') || marks.includes('subscription');
  return {
    url: target.value,
    transport: transport.value,
    version: version.value,
    body,
    headers: headers.value.map(({ name, value, isSecret }) => ({ name, value, secret: isSecret ? secretOf(name, value) : undefined })),
    calls: (view.value === 'broken' ? [] : intents).map(({ method, params, isNotification, wantsStream }) => ({
      method,
      params: compact(params.trim()),
      isNotification,
      isStream: wantsStream === true || isStream(known(method)?.marks),
      pushes: known(method)?.pushes === true,
    })),
  };
}
