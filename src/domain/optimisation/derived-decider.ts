import type { Engine } from '#kernels/engines/engine.js';
import type { Composer, Composition } from '../books/compositions.js';
import type { Decided, Decider } from '../books/decider.js';
import { formatDay } from '../time/days.js';
import type { DerivedDocument } from '../documents/index-document.js';
import type { Finding } from '../refusals/findings.js';
import { Refusal, type ErrorCode } from '../refusals/refusal.js';
import { TRACKING } from '../objectives/objective.js';
import { createDerivedSolver, type DerivedSolve, type SolvedWeights } from './derived-solve.js';
import { returnsOf } from './insufficient-risk.js';
import { trackingVariance } from './solve-convex.js';
import { relaxedFindings } from './relaxed-findings.js';
import { refused, unsolved } from './unsolved.js';

export interface DerivedDeciderInput {
  readonly document: DerivedDocument;
  readonly composer: Composer;
  readonly engine: Engine;
}

/**
 * Decides a derived index by optimising its parent's composition. Sessions are decided in ascending order: what was solved on
 * one is what trades on the next are measured from.
 */
export function createDerivedDecider({ document, composer, engine }: DerivedDeciderInput): Decider {
  const left = composer.memory(document.id);
  const solver = createDerivedSolver({ document, composer, engine, memory: left });
  const parentId = document.derivation.source_index_id;
  const solved: { session: number; weights: SolvedWeights }[] = left?.solved
    ? [{ session: left.solved.session, weights: left.solved }]
    : [];
  return {
    memory() {
      const latest = solved.at(-1);
      return {
        ...solver.memory(),
        solved: latest
          ? { session: latest.session, columns: latest.weights.columns, weights: latest.weights.weights }
          : null,
      };
    },
    decide(session) {
      const parent = composer.decidedOn(parentId, session);
      if (parent === undefined) return refused('EMPTY_INDEX', `the parent ${parentId} has no composition yet.`);
      const latest = solved.findLast((entry) => entry.session < session);
      const previous = latest === undefined ? null : { ...latest.weights, decision: latest.session };
      const solve = solvedOrRefused(() => solver.solve(parent, previous));
      if (solve instanceof Refusal) return refused(solve.code, solve.message, () => solve, 'derivation.risk_model');
      if (solve.outcome.kind !== 'solved') return unsolved(solver.solvers, solve);
      const weights = heldWeights(solve);
      solved.push({ session, weights });
      return { ...decided(weights, findingsOf(solve)), ...forecastOf(solve) };
    },
  };
}

/** What a stored risk model refuses holds a rebalance, as rows do that have no answer. */
const RISK_REFUSALS: ReadonlySet<ErrorCode> = new Set(['LOOK_AHEAD', 'MODEL_LACKS_NAMES', 'RISK_INSUFFICIENT_DATA']);

function solvedOrRefused(solve: () => DerivedSolve): DerivedSolve | Refusal {
  try {
    return solve();
  } catch (refusal) {
    if (refusal instanceof Refusal && RISK_REFUSALS.has(refusal.code)) return refusal;
    throw refusal;
  }
}

/** The parent's composition that was decided on a session: the latest decided on or before it. */
export function decidedOn(list: readonly Composition[], session: number): Composition | undefined {
  return list.findLast(({ decision }) => decision <= session);
}

/** Names with a solved weight. */
export function heldWeights({ columns, outcome }: DerivedSolve): SolvedWeights {
  if (outcome.kind !== 'solved') throw new Error('a solve without an answer holds nothing');
  const { weights } = outcome.solution;
  const places = Array.from(weights.keys()).filter((place) => weights[place] !== 0);
  return {
    columns: Int32Array.from(places, (place) => columns[place]!),
    weights: Float64Array.from(places, (place) => weights[place]!),
  };
}

function decided({ columns, weights }: SolvedWeights, findings: readonly Finding[]): Decided {
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

/** The tracking error that the risk model of a solve has of its answer. */
function forecastOf({ risk, problem, outcome }: DerivedSolve): Pick<Decided, 'trackingError'> {
  if (risk.isIdentity || outcome.kind !== 'solved') return {};
  return { trackingError: Math.sqrt(trackingVariance(problem, outcome.solution.weights)) };
}

/** Warnings of one solve. */
export function findingsOf(solve: DerivedSolve): Finding[] {
  const { risk, problem, parent } = solve;
  const warning = (code: Finding['code'], message: string): Finding => ({
    severity: 'warning',
    code,
    message,
    path: 'derivation',
  });
  const date = formatDay(parent.date);
  const found: Finding[] = [
    ...problem.warnings.map(({ message, path }) => ({
      ...warning('NO_WEIGHT_DATA', `On ${date}: ${message}`),
      path: `derivation.${path}`,
    })),
    ...relaxedFindings(solve),
  ];
  if (risk.isIdentity) {
    found.push(
      warning(
        'RISK_FALLBACK_IDENTITY',
        `On ${date} ${risk.coverage.columns.length} names are covered, with ${returnsOf(risk.coverage)}: the identity stands for the covariance.`,
      ),
    );
  } else if (risk.coverage.excluded.size > 0) {
    found.push(
      warning(
        'NO_WEIGHT_DATA',
        `On ${date} ${risk.coverage.excluded.size} of ${solve.columns.length} names have too short a history for the risk model; ${problem.objective.entry.type === TRACKING.entry.type ? 'the mean variance stands for theirs' : 'they are left out'}.`,
      ),
    );
  }
  return found;
}
