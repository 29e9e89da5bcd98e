import type { ComponentChildren } from 'preact';
import './facts.css';

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
