import type { ComponentChildren } from 'preact';
import './earlier.css';

interface EarlierProps {
  /** True if the figures do not belong to the current draft. */
  readonly isEarlier: boolean;
  /** Description of the draft to which the figures belong if `isEarlier` is true. */
  readonly of?: string;
  readonly children: ComponentChildren;
}

/** Renders figures. They are marked as outdated if they do not belong to the form next to them. */
export function Earlier({ isEarlier, of = 'From the last valid definition', children }: EarlierProps) {
  return (
    <section class="earlier" aria-label={isEarlier ? of : undefined}>
      {isEarlier && <p class="earlier-word">{of}</p>}
      <div class={isEarlier ? 'earlier-figures is-earlier' : 'earlier-figures'}>{children}</div>
    </section>
  );
}
