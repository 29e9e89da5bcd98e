import type { ReferenceValue } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';
import { readDefinitions } from '../documents/definitions.js';
import type { RuleDocument } from '../documents/index-document.js';
import { createIndexCrossSections } from './decide.js';
import type { CrossSection } from '../datapoints/cross-section.js';
import type { ExpectedKind } from '../datapoints/expressions/read-text.js';
import type { ExpressionNode } from '../datapoints/expressions/tree.js';
import { TRUE, UNKNOWN } from '../datapoints/expressions/truth-values.js';

export interface EvaluationInput {
  /** Document whose terms apply to the datapoints. */
  readonly document: RuleDocument;
  readonly market: SessionMarket;
  readonly session: number;
  /** Columns of the universe, ascending. */
  readonly universe: Int32Array;
  readonly expression: ExpressionNode;
  readonly expects: ExpectedKind;
  /** Requested securities. If the list is empty, the first securities with a value. */
  readonly identifiers: readonly string[];
  /** Maximum number of values returned. */
  readonly most: number;
}

export interface SecurityValue {
  readonly identifier: string;
  /** Value; null if missing. */
  readonly value: ReferenceValue;
}

/** Returns the values of an expression for a few securities, computed across the whole universe. */
export function evaluateDatapoint(input: EvaluationInput): SecurityValue[] {
  const { document, market, session, universe, identifiers, most } = input;
  const sections = createIndexCrossSections({
    market,
    treatment: document.pipeline.treatment,
    currency: document.currency,
    datapoints: readDefinitions(document),
  });
  const values = readValues(sections.at(session, universe), input);
  if (identifiers.length > 0)
    return identifiers.map((identifier) => {
      const column = market.columnOf(identifier);
      return { identifier, value: values[universe.indexOf(column)] ?? null };
    });
  return Array.from(universe, (column, i) => ({ identifier: market.identifiers[column]!, value: values[i]! }))
    .filter(({ value }) => value !== null)
    .slice(0, most);
}

function readValues(
  cross: CrossSection,
  { universe, expression, expects }: EvaluationInput,
): readonly ReferenceValue[] {
  if (expects === 'number') return cross.values(expression, universe);
  return Array.from(cross.truths(expression, universe), (truth) => (truth === UNKNOWN ? null : truth === TRUE));
}
