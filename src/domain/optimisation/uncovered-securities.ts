import type { SessionMarket } from '../market/session-market.js';
import { TRACKING_OBJECTIVE } from '../objectives/objective.js';
import type { RiskEstimate } from './covariance.js';
import type { Problem } from './problem.js';

/** Maximum number of securities listed individually. */
const NAMED_MAX = 5;

/** Describes the securities that the risk-model window does not cover; empty if it covers all. */
export function describeUncovered(
  sm: SessionMarket,
  { coverage: { excluded } }: Pick<RiskEstimate, 'coverage'>,
  { objective: { entry }, index }: Pick<Problem, 'objective' | 'index'>,
): string {
  if (excluded.size === 0) return '';
  const namedSecurities = [...excluded]
    .slice(0, NAMED_MAX)
    .map(([column, why]) => `${sm.identifiers[column]} (${why})`);
  const more = excluded.size > NAMED_MAX ? ` and ${excluded.size - NAMED_MAX} more` : '';
  const effect =
    entry.type === TRACKING_OBJECTIVE.entry.type ? 'the mean variance is used instead' : 'they are excluded';
  return `${excluded.size} of ${index.length} securities have no risk estimate: ${namedSecurities.join(', ')}${more}; ${effect}.`;
}
