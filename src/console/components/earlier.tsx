import type { ComponentChildren } from 'preact';
import './earlier.css';

interface EarlierProps {
  /** Whether the figures are not of what is written now. */
  readonly isEarlier: boolean;
  /** Of what they are then. */
  readonly of?: string;
  readonly children: ComponentChildren;
}

/** Figures, marked where they are not of what stands beside them. */
export function Earlier({ isEarlier, of = 'Of the last valid definition', children }: EarlierProps) {
  return (
    <section class="earlier" aria-label={isEarlier ? of : undefined}>
      {isEarlier && <p class="earlier-word">{of}</p>}
      <div class={isEarlier ? 'earlier-figures is-earlier' : 'earlier-figures'}>{children}</div>
    </section>
  );
}
