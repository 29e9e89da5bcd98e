import type { Engine } from '#kernels/engines/engine.js';
import { findCompositionInForce, type Composer, type Composition } from '../books/compositions.js';
import { formatDay, type Day } from '../time/days.js';
import { validateConstraints } from '../constraints/validate.js';
import { findUnknownGroups } from '../constraints/groups-on-market.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { checkOptimisation, type OptimisationSpec } from '../documents/optimisation-spec.js';
import type { Finding } from '../refusals/findings.js';
import { computeGrowth } from '../index-mathematics/growth.js';
import { createReturnTerms } from '../index-mathematics/growth-terms.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { findCoverage } from '../risk/return-panel.js';
import { createIndexCrossSections } from '../rules/decide.js';
import { findFirstAtLeast } from '../numbers/search.js';
import { listCandidates, type Candidates } from './candidates.js';
import { estimateRisk, readStoredRisk, type RiskEstimate } from './covariance.js';
import { checkConstraintFields, checkSpecFields } from './field-uses.js';
import { listIdentifiers } from './derived/derived-solve.js';
import { refuseInsufficientRisk } from './insufficient-risk.js';
import { reportJointEstimate } from './joint-estimate.js';
import type { Problem } from './problem.js';
import { createDecisionProblem } from './decision-problem.js';
import { describeUncovered } from './uncovered-securities.js';

/** Request of an optimisation run or its preview. */
export interface ProblemQuestion {
  readonly composer: Composer;
  readonly engine: Engine;
  readonly indexId: string;
  readonly constraints: readonly ConstraintRow[];
  /** Specification of objective, expected returns, costs and uncertainty. */
  readonly spec: OptimisationSpec;
  /** Day of the request. The latest rebalance on or before it is optimised. Null for the latest rebalance available. */
  readonly asOf: Day | null;
  /** First and last day of the risk-model window. The window never ends after the decision. */
  readonly start: Day | null;
  readonly end: Day | null;
}

/** Session range of the risk model. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** Problem of a run, with the data from which it was created. */
export interface RunProblem {
  readonly sm: SessionMarket;
  readonly target: Composition;
  readonly window: Window;
  readonly candidates: Candidates;
  readonly problem: Problem;
  readonly risk: RiskEstimate;
  /** Findings from before the solve. */
  readonly findings: readonly Finding[];
}

/**
 * Creates the problem of an index at one of its rebalances, with the risk model over a window.
 * @throws Refusal NO_DATA_AT_DATE, NO_DATA_IN_RANGE, RISK_INSUFFICIENT_DATA, LOOK_AHEAD, MODEL_LACKS_NAMES,
 *   VALIDATION_FAILED, and refusals of the rules of the index
 */
export function createRunProblem(
  question: ProblemQuestion,
  report: (fraction: number, message: string) => void = () => undefined,
): RunProblem {
  const { composer, engine, indexId, constraints, spec, start } = question;
  report(0, 'composing the index');
  const target = findTargetComposition(question);
  const sm = composer.market(indexId);
  const window = findWindow(sm, target, question);
  report(0.3, 'estimating risk');
  const candidates = listCandidates(composer, indexId, target, spec.candidates ?? 'parent');
  const { columns, index } = candidates;
  const treatment = composer.treatment(indexId);
  const { currency } = composer.document(indexId);
  const growth = computeGrowth(sm, createReturnTerms(treatment, currency, 'total'));
  const datapoints = createIndexCrossSections({ market: sm, treatment, currency });
  const returns = { sm, growth, datapoints, start, ...window };
  const { risk_model: model } = spec;
  const risk =
    typeof model === 'string'
      ? readStoredRisk(
          composer.riskModel(model),
          { window: returns, decision: target.decision, byFactors: true },
          columns,
        )
      : estimateRisk(engine, returns, columns, { estimator: model });
  if (risk.isIdentity) throw refuseInsufficientRisk(risk.coverage, columns.length, { window: returns });
  const problem = createDecisionProblem({
    spec,
    rows: constraints,
    columns,
    identifiers: listIdentifiers(sm, columns),
    index,
    previous: null,
    // A run has no book, so trades are measured from the index.
    held: { weights: index, leavers: [] },
    risk,
    cross: datapoints.at(target.decision, columns),
    algebra: engine,
    path: '',
  });
  const uncoveredFindings = describeUncovered(sm, risk, problem);
  const findings = [
    ...checkOptimisation(spec, ''),
    ...validateConstraints(constraints, { path: 'constraints', identifiers: new Set(problem.identifiers) }),
    ...findUnknownGroups(constraints, sm.market, 'constraints'),
    ...(uncoveredFindings === '' ? [] : [createNoDataFinding(uncoveredFindings, '')]),
    ...reportJointEstimate({
      spec,
      held: target.columns.length,
      candidates: columns.length,
      coverage: risk.coverage,
      alone: () => findCoverage(returns, target.columns),
    }),
    ...problem.warnings.map(({ message, path }) => createNoDataFinding(message, path)),
  ];
  return { sm, target, window, candidates, problem, risk, findings };
}

const createNoDataFinding = (message: string, path: string): Finding => ({
  severity: 'warning',
  code: 'NO_WEIGHT_DATA',
  message,
  path,
});

/** Returns the composition of the index that is optimised. */
function findTargetComposition({ composer, indexId, asOf, constraints, spec }: ProblemQuestion): Composition {
  const sm = composer.market(indexId);
  const findings = [
    ...checkConstraintFields(constraints, sm.market, { path: 'constraints', severity: 'error' }),
    ...checkSpecFields(spec, sm.market, { path: '', severity: 'error' }),
  ];
  if (findings.length > 0) {
    const message = `${findings.length} of the constraints and settings read fields that the data does not contain.`;
    throw new Refusal('VALIDATION_FAILED', message, { findings });
  }
  const session = asOf === null ? sm.sessions.length - 1 : sm.sessionAt(asOf);
  const target = session < 0 ? undefined : findCompositionInForce(composer.compositions(indexId).list, session);
  if (target !== undefined) return target;
  throw new Refusal(
    'NO_DATA_AT_DATE',
    `The index ${indexId} has no rebalance on or before ${asOf === null ? 'the last date of the data' : formatDay(asOf)}.`,
  );
}

/** Returns the requested sessions of the risk model that are not after the decision. */
function findWindow(sm: SessionMarket, { decision }: Composition, { start, end }: ProblemQuestion): Window {
  const from = start === null ? 0 : findFirstAtLeast(sm.sessions, start);
  const to = end === null ? decision : Math.min(decision, sm.sessionAt(end));
  if (to >= from) return { from, to };
  throw new Refusal(
    'NO_DATA_IN_RANGE',
    `The window contains no session on or before the decision of ${formatDay(sm.sessions[decision]!)}.`,
  );
}
