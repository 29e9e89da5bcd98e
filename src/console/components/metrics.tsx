import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { getPartName } from '../state/part.js';
import { useWidth } from './use-width.js';
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
const keepDatesWhole = (text: string): ComponentChildren =>
  text.split(/(\d{4}-\d\d-\d\d)/).map((part, k) => (k % 2 === 0 ? part : <span class="whole-date">{part}</span>));

/** Minimum width of a figure in pixels. */
const WIDTH_MIN = 118;

/** Renders figures with their labels, in rows of about equal length. The last figure fills its row. */
export function Metrics({ metrics, label }: { readonly metrics: readonly Metric[]; readonly label: string }) {
  const list = useRef<HTMLDListElement>(null);
  const fitting = Math.max(1, Math.floor(useWidth(list) / WIDTH_MIN));
  const rows = Math.ceil(metrics.length / fitting);
  const columns = Math.ceil(metrics.length / Math.max(1, rows));
  const left = columns * rows - metrics.length;
  return (
    <dl
      ref={list}
      class="metrics"
      aria-label={label}
      data-part={getPartName(label)}
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
    >
      {metrics.map(({ term, value, help, kind = '', note }, at) => (
        <div
          key={term}
          title={help}
          style={left > 0 && at === metrics.length - 1 ? { gridColumn: `span ${left + 1}` } : undefined}
        >
          <dt>{term}</dt>
          <dd class={kind}>{value}</dd>
          {note !== undefined && (
            <dd class="metric-note quiet">{typeof note === 'string' ? keepDatesWhole(note) : note}</dd>
          )}
        </div>
      ))}
    </dl>
  );
}
