import { useState } from 'preact/hooks';
import { Button, Icon } from '../components/controls/button.js';
import { copyText } from '../state/files.js';
import { pinPart, removeView, savedViews, saveView } from '../state/saved.js';
import { listPartsOnPage } from '../components/layout/page.js';
import { consoleLocation, navigate } from '../state/location.js';
import { formatKeptAddress } from '../state/stores.js';
import { showToast } from '../state/toasts.js';

/**
 * Renders the content of the view menu: copy the address, save it under a name, pin a part of the page to the
 * dashboard, and open saved views.
 */
export function Views({ onClose }: { onClose(): void }) {
  const address = formatKeptAddress();
  return (
    <>
      <Button onClick={() => void copyText(location.origin + address, 'the link')}>
        <Icon name="link" /> Copy the link
      </Button>
      <SaveForm address={address} />
      <PinForm key={consoleLocation.value.path} />
      {savedViews.value.length > 0 && (
        <ul class="pile gap-1 note-list" aria-label="Saved views">
          {savedViews.value.map(({ name, address: saved }) => (
            <li key={name}>
              <a
                href={saved}
                onClick={(event) => {
                  event.preventDefault();
                  navigate(saved);
                  onClose();
                }}
              >
                {name}
              </a>
              <Button kind="bare" aria-label={`Delete the view ${name}`} onClick={() => removeView(name)}>
                <Icon name="close" />
              </Button>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

const NAME_MAX = 80;

function SaveForm({ address }: { readonly address: string }) {
  const [name, setName] = useState(formatTitle());
  return (
    <form
      class="pile gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        saveView({ name: name.trim(), address });
        showToast('good', `The view ${name.trim()} was saved in this browser.`);
      }}
    >
      <input
        class="control"
        aria-label="Name of the view"
        maxLength={NAME_MAX}
        value={name}
        onInput={(event) => setName(event.currentTarget.value)}
      />
      <Button type="submit" disabled={name.trim() === ''}>
        Save the view
      </Button>
    </form>
  );
}

function PinForm() {
  const [parts] = useState(listPartsOnPage);
  const [part, setPart] = useState(parts[0] ?? '');
  if (parts.length === 0 || consoleLocation.value.path === '/console/dashboard') return null;
  return (
    <form
      class="pile gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        pinPart(part);
      }}
    >
      <select
        class="control"
        aria-label="Part of the page"
        value={part}
        onChange={(event) => setPart(event.currentTarget.value)}
      >
        {parts.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      <Button type="submit">Pin to the dashboard</Button>
    </form>
  );
}

const formatTitle = (): string => document.title.replace(/ · Divisor$/, '');
