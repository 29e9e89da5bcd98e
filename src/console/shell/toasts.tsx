import { Icon } from '../components/icon.js';
import { dismiss, toasts } from '../state/toasts.js';
import './toasts.css';

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, link }) => (
        <div key={id} class={`toast ${kind}`}>
          <p>{text}</p>
          {link !== undefined && <a href={link.address}>{link.text}</a>}
          <button type="button" class="toast-close" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
