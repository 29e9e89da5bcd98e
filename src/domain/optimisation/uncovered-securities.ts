import type { SessionMarket } from '../market/session-market.js';
import { TRACKING_OBJECTIVE } from '../objectives/objective.js';
import type { RiskEstimate } from './covariance.js';
import type { Problem } from './problem.js';

/** Maximum number of securities listed individually. */
const NAMED_MAX = 5;

/** Risk that is assumed for securities without an estimate, see `estimateRisk`. */
const ASSUMPTION = 'the mean variance and no correlation';

/**
 * Describes the securities that the risk-model window does not cover: their number, their share of the index, their
 * treatment, and the largest of them. Returns an empty text if the window covers all.
 */
export function describeUncovered(
  sm: SessionMarket,
  { coverage: { excluded } }: Pick<RiskEstimate, 'coverage'>,
  { objective: { entry }, identifiers, index }: Pick<Problem, 'objective' | 'identifiers' | 'index'>,
): string {
  if (excluded.size === 0) return '';
  const reasons = new Map([...excluded].map(([column, why]) => [sm.identifiers[column]!, why]));
  const share = index.reduce((sum, weight, i) => (reasons.has(identifiers[i]!) ? sum + weight : sum), 0);
  const treatment =
    entry.type === TRACKING_OBJECTIVE.entry.type
      ? `They are kept with ${ASSUMPTION}.`
      : `They are excluded. The figures of the index assume ${ASSUMPTION} for them.`;
  const weights = new Map(identifiers.map((identifier, i) => [identifier, index[i]!]));
  const getWeight = (identifier: string) => weights.get(identifier) ?? 0;
  const bySize = [...reasons].toSorted(([a], [b]) => getWeight(b) - getWeight(a));
  const namedSecurities = bySize.slice(0, NAMED_MAX).map(([identifier, why]) => `${identifier} (${why})`);
  const moreText = excluded.size > NAMED_MAX ? ` and ${excluded.size - NAMED_MAX} more` : '';
  return `${excluded.size} of ${index.length} securities (${(100 * share).toFixed(2)}% of the index) have no risk estimate: ${namedSecurities.join(', ')}${moreText}. ${treatment}`;
}
