import type { ComponentChildren } from 'preact';
import { Icon, type IconName } from './icon.js';
import './link-cards.css';

export interface LinkCard {
  readonly icon: IconName;
  readonly title: string;
  /** Number of items on the linked page. */
  readonly figure?: ComponentChildren;
  readonly text: ComponentChildren;
  readonly address: string;
}

/** Renders links to possible next steps, each with a short description. */
export function LinkCards({ label, cards }: { readonly label: string; readonly cards: readonly LinkCard[] }) {
  return (
    <ul class="link-cards" aria-label={label}>
      {cards.map(({ icon, title, figure, text, address }) => (
        <li key={title}>
          <a href={address}>
            <Icon name={icon} />
            <strong>
              {title} {figure !== undefined && <span class="link-figure">{figure}</span>}
            </strong>
            <span class="quiet">{text}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}
