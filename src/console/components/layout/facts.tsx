import '../entries.css';
import '../facts.css';
import '../json-document.css';
import '../link-cards.css';
import '../metrics.css';
import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { formatChange, formatPoints, getSignClass } from '../../words/numbers.js';
import { Icon, type IconName } from '../controls/button.js';
import { getPartName, useWidth } from './page.js';

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
    <ul class="frame raised entries" aria-label={label}>
      {entries.map(({ key, title, badge, aside, text }) => (
        <li key={key}>
          <div class="flow entry-head">
            <span class="entry-title">{title}</span>
            {badge}
            {aside !== undefined && <span class="small entry-aside">{aside}</span>}
          </div>
          {text !== undefined && text !== '' && <div class="second entry-text">{text}</div>}
        </li>
      ))}
    </ul>
  );
}

/** A term with its value. The help is shown when the pointer is on the term. */
export type Fact = readonly [term: string, value: ComponentChildren, help?: string];

interface FactsProps {
  /** Terms with their values. A term with the value null is omitted. */
  readonly facts: readonly Fact[];
  /** True if the pairs are in several columns in a wide window. */
  readonly isWide?: boolean;
}

/** Renders terms with their values, by default one pair per line. */
export function Facts({ facts, isWide = false }: FactsProps) {
  return (
    <dl class={isWide ? 'facts is-wide' : 'facts'}>
      {facts
        .filter(([, value]) => value !== null && value !== undefined)
        .map(([term, value, help]) => (
          <div key={term}>
            <dt title={help}>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}

interface JsonDocumentProps {
  readonly label: string;
  readonly value: unknown;
}

export function JsonDocument({ label, value }: JsonDocumentProps) {
  return (
    <pre class="frame json-document" tabIndex={0} aria-label={label} role="group">
      {JSON.stringify(value, null, 2)}
    </pre>
  );
}

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
    <ul class="pile gap-3 link-cards" aria-label={label}>
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

export interface LabelledFigure {
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
export function Metrics({ metrics, label }: { readonly metrics: readonly LabelledFigure[]; readonly label: string }) {
  const list = useRef<HTMLDListElement>(null);
  const fitting = Math.max(1, Math.floor(useWidth(list) / WIDTH_MIN));
  const places = metrics.reduce((sum, { isLong = false }) => sum + (isLong ? 2 : 1), 0);
  const rows = Math.ceil(places / fitting);
  const columns = Math.ceil(places / Math.max(1, rows));
  const left = columns * rows - places;
  return (
    <dl
      ref={list}
      class="pile frame raised metrics"
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

/** Renders a change in percent, coloured as a gain or a loss. */
export const addSign = (value: number | null | undefined) => (
  <span class={getSignClass(value)}>{formatChange(value)}</span>
);

/** Renders a difference or a part of a return in percentage points, coloured as a gain or a loss. */
export const addPoints = (value: number | null | undefined) => (
  <span class={getSignClass(value)}>{formatPoints(value)}</span>
);
