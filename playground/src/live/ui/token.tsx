/** Asks for the token of a listener that other machines can reach. */

import { useState } from 'preact/hooks';
import { phase, unlock } from '../connection.js';

export function TokenForm() {
  const [typed, setTyped] = useState('');
  const problem = phase.value.state === 'locked' ? phase.value.problem : '';
  const submit = (event: Event) => {
    event.preventDefault();
    if (typed.trim() !== '') void unlock(typed.trim());
  };
  return (
    <main class="locked">
      <form class="panel token" onSubmit={submit}>
        <h2>This server requires a token</h2>
        <p class="muted">It is sent with each request, and forgotten when you close or reload the page.</p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          autofocus
          value={typed}
          aria-invalid={problem !== ''}
          aria-describedby="token-problem"
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <p id="token-problem" class="field-problem" role="alert">
          {problem}
        </p>
        <button type="submit" class="primary" disabled={typed.trim() === ''}>
          Connect
        </button>
      </form>
    </main>
  );
}
