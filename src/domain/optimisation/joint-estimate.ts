import type { OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';
import type { Coverage } from '../risk/return-panel.js';

export interface JointInput {
  readonly spec: OptimisationSpec;
  /** Names of the index. */
  readonly held: number;
  /** Names that weights are chosen among. */
  readonly candidates: number;
  /** Of the candidates in the window of the risk model. */
  readonly coverage: Coverage;
  /** Of the names of the index alone in the same window. */
  readonly alone: () => Coverage;
}

/**
 * That names of the universe change what is known of the others: a covariance is one estimate of all of them, and means
 * are of the sessions that all of them have. More candidates never worsen an answer by the same estimates; by others
 * they may.
 */
export function jointFindings({ spec, held, candidates, coverage, alone }: JointInput): Finding[] {
  if (candidates === held) return [];
  const { columns, sessions } = coverage;
  if (typeof spec.risk_model !== 'string')
    return [
      jointFinding(
        `The covariance is one estimate of ${columns.length} candidates over the ${sessions.length} sessions that all of them have: its shrinkage and sessions are not those of a run among the ${held} names of the index, which may have the better value. A stored risk model measures both runs alike.`,
      ),
    ];
  const own = alone().sessions.length;
  if (spec.expected_returns?.type !== 'historical' || own === sessions.length) return [];
  return [
    jointFinding(
      `The means are of the ${sessions.length} sessions that all candidates have; in a run among the ${held} names of the index they are of ${own}.`,
    ),
  ];
}

function jointFinding(message: string): Finding {
  return { severity: 'info', code: 'JOINT_ESTIMATE', message, path: 'candidates' };
}
