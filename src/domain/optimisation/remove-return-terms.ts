import { readObjective, readObjectiveType, type OptimisationSpec } from '../documents/optimisation-spec.js';
import { historicalReturns } from '../expected-returns/classes/historical.js';
import { TRACKING_OBJECTIVE } from '../objectives/objective.js';
import { listScenarioSessions } from './decision-problem.js';

/**
 * Returns the specification for a decision with too few returns, at which the identity replaces the covariance. If the
 * objective needs the returns as scenarios or as means, it is replaced by the weights nearest to the parent, without
 * expected returns and uncertainty.
 */
export function removeReturnTerms(spec: OptimisationSpec): OptimisationSpec {
  return readsReturns(spec)
    ? { ...spec, objective: TRACKING_OBJECTIVE.entry.type, expected_returns: null, uncertainty: null }
    : spec;
}

function readsReturns({ objective, expected_returns: returns }: OptimisationSpec): boolean {
  const { params } = readObjective(objective);
  return ('scenarios' in params && listScenarioSessions(params).length > 0) || returns?.type === historicalReturns.type;
}

/** Returns true if the nearest weights replaced the requested objective. */
export function isReplaced(optimisationSpec: OptimisationSpec, used: OptimisationSpec): boolean {
  return readObjectiveType(optimisationSpec.objective) !== readObjectiveType(used.objective);
}
