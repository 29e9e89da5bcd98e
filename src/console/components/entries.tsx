import type { ComponentChildren } from 'preact';
import './entries.css';

export interface Entry {
  readonly key: string;
  readonly title: ComponentChildren;
  /** State shown next to the title. */
  readonly badge?: ComponentChildren;
  /** Figure or time shown at the end of the line. */
  readonly aside?: ComponentChildren;
  /** Sentence shown in full below the title. */
  readonly text?: ComponentChildren;
}

/** Renders items with their states and descriptions. For panels that are too narrow for a table. */
export function Entries({ label, entries }: { readonly label: string; readonly entries: readonly Entry[] }) {
  return (
    <ul class="entries" aria-label={label}>
      {entries.map(({ key, title, badge, aside, text }) => (
        <li key={key}>
          <div class="entry-head">
            <span class="entry-title">{title}</span>
            {badge}
            {aside !== undefined && <span class="entry-aside">{aside}</span>}
          </div>
          {text !== undefined && text !== '' && <div class="entry-text">{text}</div>}
        </li>
      ))}
    </ul>
  );
}
