import { useState } from 'preact/hooks';
import { Button } from '../components/controls/button.js';
import { session, takeKey } from '../state/service.js';
import '../components/control.css';

/** Page that asks for an API key. The key is stored only in this tab and is sent only to this service. */
export function KeyPage({ refused }: { readonly refused: string | null }) {
  const [key, setKey] = useState('');
  return (
    <form
      class="pile gap-3 key-page"
      onSubmit={(event) => {
        event.preventDefault();
        takeKey(key.trim());
      }}
    >
      <h1>This service requires a key</h1>
      {session.value?.sign_in === true && (
        <p>
          <a href="/auth/login">Sign in</a> with your organisation, or use a key.
        </p>
      )}
      {refused !== null && (
        <p class="down" role="alert">
          {refused}
        </p>
      )}
      <label>
        Key
        <input
          class="control"
          type="password"
          autocomplete="off"
          spellcheck={false}
          placeholder="dvs_…"
          value={key}
          onInput={(event) => setKey(event.currentTarget.value)}
        />
      </label>
      <p class="quiet">
        The key is kept until you close this tab. <code>divisor keys create</code> creates one on the machine of the
        service.
      </p>
      <Button kind="main" type="submit" disabled={key.trim() === ''}>
        Continue
      </Button>
    </form>
  );
}
