import type { ComponentChildren } from 'preact';
import './facts.css';

export type Fact = readonly [term: string, value: ComponentChildren];

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
        .map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
