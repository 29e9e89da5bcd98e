import type { ComponentChildren } from 'preact';
import './facts.css';

export type Fact = readonly [term: string, value: ComponentChildren];

interface FactsProps {
  /** Terms with their values. A term with the value null is omitted. */
  readonly facts: readonly Fact[];
}

/** Renders terms with their values, one pair per line. */
export function Facts({ facts }: FactsProps) {
  return (
    <dl class="facts">
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
