import type { ComponentChildren } from 'preact';
import { partName } from '../state/part.js';
import './metrics.css';

export interface Metric {
  readonly term: string;
  readonly value: ComponentChildren;
  /** Meaning of the figure, and its unit. */
  readonly help?: string;
  readonly kind?: string;
  /** A second, smaller figure. */
  readonly note?: ComponentChildren;
}

/** Renders figures with their names. */
export function Metrics({ metrics, label }: { readonly metrics: readonly Metric[]; readonly label: string }) {
  return (
    <dl class="metrics" aria-label={label} data-part={partName(label)}>
      {metrics.map(({ term, value, help, kind = '', note }) => (
        <div key={term} title={help}>
          <dt>{term}</dt>
          <dd class={kind}>{value}</dd>
          {note !== undefined && <dd class="metric-note quiet">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}
