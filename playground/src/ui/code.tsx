/** The request as a program. */

import { signal } from '@preact/signals';
import { compact } from '../json/print.js';
import { type Intent, compose, composeBatch } from '../rpc/message.js';
import { LANGUAGES, type Language, type Plan, secretOf } from '../snippets/snippet.js';
import { methods } from '../state/catalog.js';
import { brokenText, intent, view } from '../state/draft.js';
import { headers, target, transport, version } from '../state/settings.js';
import { tray } from '../state/tray.js';
import { Empty, Segmented } from './controls.js';
import { CopyButton } from './copy.js';

const language = signal<Language>('curl');

export function Code() {
  const plan = planned();
  const chosen = LANGUAGES.find(({ value }) => value === language.value)!;
  if (!plan) {
    return (
      <Empty title="Nothing to write down yet">
        <p>Choose a method, and it stands here as curl, Python, JavaScript and Rust.</p>
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
        <code>{text}</code>
      </pre>
      {variables.length > 0 && <p class="muted">Set {variables.join(', ')} in the environment. Secrets are not written down.</p>}
      {tray.value.length > 0 && view.value === 'call' && <p class="muted">The batch of {tray.value.length} is written down.</p>}
    </section>
  );
}

/** What is about to be sent: the batch, if one is collected. */
function planned(): Plan | undefined {
  const intents: readonly Intent[] = tray.value.length > 0 ? tray.value.map((entry) => entry.intent) : [intent.value];
  if (view.value === 'call' && intents.some((intent) => intent.method.trim() === '')) return undefined;
  const texts = intents.map((intent, at) => compose(intent, String(at + 1)));
  const body = view.value === 'broken' ? brokenText.value : tray.value.length > 0 ? composeBatch(texts) : texts[0]!;
  const isStream = (name: string) => {
    const marks = methods.value.find((method) => method.name === name)?.marks ?? [];
    return marks.includes('stream') || marks.includes('subscription');
  };
  return {
    url: target.value,
    transport: transport.value,
    version: version.value,
    body,
    headers: headers.value.map(({ name, value, isSecret }) => ({ name, value, secret: isSecret ? secretOf(name, value) : undefined })),
    calls: intents.map(({ method, params, isNotification }) => ({
      method,
      params: compact(params.trim()),
      isNotification,
      isStream: isStream(method),
    })),
  };
}
