import type { ComponentChildren } from 'preact';
import { partName } from '../state/part.js';
import './metrics.css';

export interface Metric {
  readonly term: string;
  readonly value: ComponentChildren;
  /** Meaning of the figure, and its unit. */
  readonly help?: string;
  readonly kind?: string;
  /** Secondary figure in a smaller font. */
  readonly note?: ComponentChildren;
}

/** Prevents line breaks within the dates of a text. */
const wholeDates = (text: string): ComponentChildren =>
  text.split(/(\d{4}-\d\d-\d\d)/).map((part, k) => (k % 2 === 0 ? part : <span class="whole-date">{part}</span>));

/** Renders figures with their labels. */
export function Metrics({ metrics, label }: { readonly metrics: readonly Metric[]; readonly label: string }) {
  return (
    <dl class="metrics" aria-label={label} data-part={partName(label)}>
      {metrics.map(({ term, value, help, kind = '', note }) => (
        <div key={term} title={help}>
          <dt>{term}</dt>
          <dd class={kind}>{value}</dd>
          {note !== undefined && (
            <dd class="metric-note quiet">{typeof note === 'string' ? wholeDates(note) : note}</dd>
          )}
        </div>
      ))}
    </dl>
  );
}
