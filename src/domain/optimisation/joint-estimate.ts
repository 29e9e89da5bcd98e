import type { OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';
import type { Coverage } from '../risk/return-panel.js';

export interface JointInput {
  readonly spec: OptimisationSpec;
  /** Number of securities in the index. */
  readonly held: number;
  /** Number of candidates. */
  readonly candidates: number;
  /** Coverage of all candidates in the window of the risk model. */
  readonly coverage: Coverage;
  /** Coverage of the index securities only, in the window of the risk model. */
  readonly alone: () => Coverage;
}

/**
 * Warns that securities of the universe change the estimates of all other securities. A covariance is estimated
 * jointly, and means use the sessions that all securities share. With unchanged estimates, more candidates never worsen
 * a solution; with changed ones they may.
 */
export function reportJointEstimate({ spec, held, candidates, coverage, alone }: JointInput): Finding[] {
  if (candidates === held) return [];
  const { columns, sessions } = coverage;
  if (typeof spec.risk_model !== 'string')
    return [
      createJointFinding(
        `The covariance is one joint estimate of ${columns.length} candidates over their ${sessions.length} common sessions: its shrinkage and sessions differ from those of a run among the ${held} securities of the index, which may have a better value. Use a stored risk model to compare both runs.`,
      ),
    ];
  const sessionsAlone = alone().sessions.length;
  if (spec.expected_returns?.type !== 'historical' || sessionsAlone === sessions.length) return [];
  return [
    createJointFinding(
      `The means use the ${sessions.length} common sessions of all candidates; in a run among the ${held} securities of the index they use ${sessionsAlone}.`,
    ),
  ];
}

function createJointFinding(message: string): Finding {
  return { severity: 'info', code: 'JOINT_ESTIMATE', message, path: 'candidates' };
}
