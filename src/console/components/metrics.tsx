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
  /** True if the value fills two columns, for example a range of prices. */
  readonly isLong?: boolean;
}

/** Prevents line breaks at the hyphens of dates and ids. A word that is wider than the line still breaks. */
export const keepWordsWhole = (text: string): ComponentChildren =>
  text.split(/(\w\S*-\S*\w)/).map((part, k) => (k % 2 === 0 ? part : <span class="whole-word">{part}</span>));

/** Minimum width of a figure in pixels. */
const WIDTH_MIN = 118;

/** Renders figures with their labels in rows of about equal length. The last figure fills the rest of its row. */
export function Metrics({ metrics, label }: { readonly metrics: readonly Metric[]; readonly label: string }) {
  const list = useRef<HTMLDListElement>(null);
  const fitting = Math.max(1, Math.floor(useWidth(list) / WIDTH_MIN));
  const places = metrics.reduce((sum, { isLong = false }) => sum + (isLong ? 2 : 1), 0);
  const rows = Math.ceil(places / fitting);
  const columns = Math.ceil(places / Math.max(1, rows));
  const left = columns * rows - places;
  return (
    <dl
      ref={list}
      class="metrics"
      aria-label={label}
      data-part={getPartName(label)}
      style={{ gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))` }}
    >
      {metrics.map(({ term, value, help, kind = '', note, isLong = false }, at) => (
        <div
          key={at}
          title={help}
          style={formatSpan((isLong ? 2 : 1) + (at === metrics.length - 1 ? left : 0), columns)}
        >
          <dt>{keepWordsWhole(term)}</dt>
          <dd class={kind}>{value}</dd>
          {note !== undefined && (
            <dd class="metric-note quiet">{typeof note === 'string' ? keepWordsWhole(note) : note}</dd>
          )}
        </div>
      ))}
    </dl>
  );
}

/** Returns the style of a figure that fills several columns. */
const formatSpan = (places: number, columns: number) =>
  places > 1 && columns > 1 ? { gridColumn: `span ${Math.min(places, columns)}` } : undefined;
