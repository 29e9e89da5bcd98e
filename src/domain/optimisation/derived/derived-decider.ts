import type { Engine } from '#kernels/engines/engine.js';
import { findKnownSession, type Composer, type Composition } from '../../books/compositions.js';
import type { DecidedComposition, Decider } from '../../books/decider.js';
import { formatDay } from '../../time/days.js';
import type { DerivedDocument } from '../../documents/index-document.js';
import type { Finding } from '../../refusals/findings.js';
import type { SessionMarket } from '../../market/session-market.js';
import { Refusal, type ErrorCode } from '../../refusals/refusal.js';
import { createDerivedSolver, type DerivedSolve } from './derived-solve.js';
import type { SolvedWeights } from './solved-weights.js';
import { selectHeldWeights } from './select-held-weights.js';
import { countReturns } from '../insufficient-risk.js';
import { computeTrackingVariance } from '../tracking-variance.js';
import { reportRelaxedRows, reportRelaxSteps } from '../relaxation/relaxed-findings.js';
import { describeUncovered } from '../uncovered-securities.js';
import { createRefusal, explainUnsolved } from '../explain-unsolved.js';

export interface DerivedDeciderInput {
  readonly document: DerivedDocument;
  readonly composer: Composer;
  readonly engine: Engine;
}

/**
 * Creates the decider of a derived index. It optimises the parent's composition. Sessions must be decided in ascending
 * order, because trades are measured from earlier solutions.
 */
export function createDerivedDecider({ document, composer, engine }: DerivedDeciderInput): Decider {
  const earlierMemory = composer.memory(document.id);
  const solver = createDerivedSolver({ document, composer, engine, memory: earlierMemory });
  const parentId = document.derivation.source_index_id;
  const solves: { session: number; weights: SolvedWeights }[] = earlierMemory?.solved
    ? [{ session: earlierMemory.solved.session, weights: earlierMemory.solved }]
    : [];
  return {
    memory() {
      const latestSolve = solves.at(-1);
      return {
        ...solver.memory(),
        solved: latestSolve
          ? { session: latestSolve.session, columns: latestSolve.weights.columns, weights: latestSolve.weights.weights }
          : null,
      };
    },
    decide(session, _incumbents, outgoing = null) {
      const parent = composer.decidedOn(parentId, session);
      if (parent === undefined) return createRefusal('EMPTY_INDEX', `the parent ${parentId} has no composition yet.`);
      const latestSolve = solves.findLast((entry) => entry.session < session);
      const earlierPortfolios = { previous: latestSolve?.weights ?? null, outgoing };
      const target = findTarget(parent, session, composer.market(parentId));
      const solve = solveOrRefuse(() => solver.solve(target, earlierPortfolios));
      if (solve instanceof Refusal)
        return createRefusal(solve.code, solve.message, () => solve, 'derivation.risk_model');
      if (solve.outcome.kind !== 'solved') return explainUnsolved(solver.solvers, solve);
      const weights = listHeldWeights(solve);
      solves.push({ session, weights });
      return { ...toDecision(weights, listFindings(solve, composer.market(parentId))), ...createForecast(solve) };
    },
  };
}

/**
 * Returns the parent's composition as the target of a decision. A composition decided earlier gets the session and date
 * of this decision.
 */
export function findTarget(parent: Composition, session: number, sm: SessionMarket): Composition {
  return parent.decision === session ? parent : { ...parent, decision: session, date: sm.sessions[session]! };
}

/** Refusals of a stored risk model. They skip a rebalance, as infeasible rows do. */
const RISK_REFUSALS: ReadonlySet<ErrorCode> = new Set(['LOOK_AHEAD', 'MODEL_LACKS_NAMES', 'RISK_INSUFFICIENT_DATA']);

function solveOrRefuse(solve: () => DerivedSolve): DerivedSolve | Refusal {
  try {
    return solve();
  } catch (refusal) {
    if (refusal instanceof Refusal && RISK_REFUSALS.has(refusal.code)) return refusal;
    throw refusal;
  }
}

/** Returns the parent's latest composition decided on or before a session. */
export function findDecision(list: readonly Composition[], session: number): Composition | undefined {
  return list.findLast((composition) => findKnownSession(composition) <= session);
}

/** Returns the securities with a nonzero solved weight. */
export function listHeldWeights({ columns, outcome }: DerivedSolve): SolvedWeights {
  if (outcome.kind !== 'solved') throw new Error('a solve without an answer holds nothing');
  return selectHeldWeights(columns, outcome.solution.weights);
}

function toDecision({ columns, weights }: SolvedWeights, findings: readonly Finding[]): DecidedComposition {
  return {
    kind: 'decided',
    columns,
    weights,
    uncapped: weights,
    cap: null,
    capped: new Int32Array(0),
    redistributed: 0,
    findings,
  };
}

/** Returns the forecast tracking error of a solution under the risk model of the optimisation. */
function createForecast({ risk, problem, outcome }: DerivedSolve): Pick<DecidedComposition, 'trackingError'> {
  if (risk.isIdentity || outcome.kind !== 'solved') return {};
  return { trackingError: Math.sqrt(computeTrackingVariance(problem, outcome.solution.weights)) };
}

/** Returns the warnings of one optimisation. */
export function listFindings(solve: DerivedSolve, sm: SessionMarket): Finding[] {
  const { risk, problem, parent } = solve;
  const createWarning = (code: Finding['code'], message: string): Finding => ({
    severity: 'warning',
    code,
    message,
    path: 'derivation',
  });
  const date = formatDay(parent.date);
  const results: Finding[] = [
    ...problem.warnings.map(({ message, path }) => ({
      ...createWarning('NO_WEIGHT_DATA', `On ${date}: ${message}`),
      path: `derivation.${path}`,
    })),
    ...reportRelaxSteps(solve),
    ...reportRelaxedRows(solve),
    ...listChoiceFindings(solve),
  ];
  if (risk.isIdentity) {
    results.push(
      createWarning(
        'RISK_FALLBACK_IDENTITY',
        `On ${date} ${risk.coverage.columns.length} securities are covered, with ${countReturns(risk.coverage)}: the identity matrix replaces the covariance.${solve.isNearest ? ' The objective needs more returns: the result is the weights nearest to the parent.' : ''}`,
      ),
    );
  } else if (risk.coverage.excluded.size > 0) {
    results.push(createWarning('NO_WEIGHT_DATA', `On ${date} ${describeUncovered(sm, risk, problem)}`));
  }
  return results;
}

/**
 * Reports how much better another choice of securities may be. Reports nothing if no bound over all choices is known.
 */
function listChoiceFindings({ outcome, parent }: DerivedSolve): Finding[] {
  if (outcome.kind !== 'solved' || !outcome.solution.isHeuristic) return [];
  const { objective, bound } = outcome.solution;
  const gap = (objective - bound) / Math.max(Math.abs(objective), Number.MIN_VALUE);
  if (!(gap < 1)) return [];
  const message = `On ${formatDay(parent.date)} the choice of securities is not proven to be the best: another one improves the objective by at most ${(100 * gap).toFixed(2)}%.`;
  return [{ severity: 'info', code: 'CHOICE_NOT_PROVEN', message, path: 'derivation.constraints' }];
}
