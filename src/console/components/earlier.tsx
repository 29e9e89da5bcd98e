import type { ComponentChildren } from 'preact';
import './earlier.css';

/** Figures of what was valid last, beside something that is not. */
export function Earlier({ children }: { readonly children: ComponentChildren }) {
  return (
    <section class="earlier" aria-label="Of the last valid definition">
      <p class="earlier-word">Of the last valid definition</p>
      <div class="earlier-figures">{children}</div>
    </section>
  );
}
