import type { FrontierPayload } from '#clients/typescript/divisor.js';
import type { JsonObject } from '../../words/paths.js';

export type FrontierPoint = FrontierPayload['points'][number];

/** The tangency, where it is the point that is chosen. */
export const TANGENCY = 'tangency';

/** A point that an address names: by its place from 1 on, or the tangency. */
export interface ChosenPoint {
  readonly label: string;
  readonly point: FrontierPoint;
}

/** Returns the point that is chosen; the first where none is. */
export function chosenPoint({ points, tangency }: FrontierPayload, named: string | null): ChosenPoint | undefined {
  if (named === TANGENCY && tangency !== null) return { label: 'Tangency', point: tangency };
  const at = Math.max(0, Number(named ?? 1) - 1);
  const point = points[at];
  return point && { label: `Point ${at + 1} of ${points.length}`, point };
}

/**
 * Returns the terms of an optimisation whose solution is a point of the frontier: the largest utility at its risk
 * aversion, with the expected returns of the frontier; the minimum variance if it has none. Null if the run has no
 * frontier.
 */
export function termsOfPoint({ risk_aversion: aversion }: FrontierPoint, terms: JsonObject): JsonObject | null {
  if (aversion === undefined) return null;
  if (aversion === null) return { ...terms, objective: { type: 'min_variance' } };
  return {
    ...terms,
    objective: { type: 'max_utility', risk_aversion: aversion },
    // By default, the frontier uses the means over the risk window.
    expected_returns: terms['expected_returns'] ?? { type: 'historical' },
  };
}
