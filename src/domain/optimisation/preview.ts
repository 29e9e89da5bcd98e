import type { Engine } from '#kernels/engines/engine.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import type { Finding } from '../base/findings.js';
import { type ErrorCode, Refusal } from '../base/refusals.js';
import { type Day, parseValidDay } from '../base/time.js';
import {
  composeAsKnown,
  type Composer,
  type Composition,
  findCompositionInForce,
  refuseBeforeFirstRebalance,
} from '../books/compositions.js';
import { findSessionWithData } from '../books/rebalance-dates.js';
import type { RulePreview } from '../decide/preview.js';
import { type DerivedDocument, type IndexDocument, isDerivedDocument } from '../definition/index-document.js';
import { requireRates } from '../market/rates.js';
import type { SessionMarket } from '../market/session-market.js';
import type { Candidates, PooledScenarios } from './decision-problem.js';
import {
  createDerivedSolver,
  type EarlierPortfolios,
  listFindings,
  listHeldWeights,
  refuseInfeasible,
  selectHeldWeights,
  toDecision,
  type DerivedWeights,
} from './derived-index.js';
import type { ExecutedMove } from './relaxation.js';
import { computeFigures, listRowSides, type RowSide, type WeightFigures } from './report.js';
import { createRunProblem, type ProblemQuestion } from './run.js';
import { solveProblem } from './search.js';

/** Preview of a derived index: the optimisation at the parent's latest rebalance. */
export interface DerivedPreview {
  readonly sm: SessionMarket;
  readonly document: DerivedDocument;
  /** Latest session with data on or before the requested day; the session of the rebalance in a first preview. */
  readonly session: number;
  readonly parent: Composition;
  /** Columns that may be held, ascending, with the parent's weights, [N]. */
  readonly candidates: Candidates;
  readonly held: DerivedWeights;
  readonly sides: readonly RowSide[];
  readonly before: WeightFigures;
  readonly after: WeightFigures;
  /** Rows that were relaxed by priority. */
  readonly relaxed: readonly ExecutedMove[];
  /** Probabilities of the scenarios; null without views. */
  readonly pooled: PooledScenarios | null;
  readonly findings: readonly Finding[];
}

/**
 * Optimises a derived index at the latest rebalance of its parent on or before a day. The steps are those of a run, so
 * the preview of a rebalance date equals the holdings of the run after it.
 * @throws Refusal NO_DATA_AT_DATE, INFEASIBLE, SOLVER_FAILED, and refusals of the parent's rules
 */
export function previewDerived(
  composer: Composer,
  indexId: string,
  { asOf, engine }: { readonly asOf: Day; readonly engine: Engine },
): DerivedPreview {
  const parentId = findParent(composer, indexId);
  const session = findSessionWithData(composer.market(parentId), asOf);
  const list = session < 0 ? [] : listParentRebalances(composer, parentId);
  const parent = findCompositionInForce(list, session);
  if (parent === undefined) throw reportNoRebalance(composer.document(parentId), asOf);
  return previewAt(composer, indexId, { session, parent, isFirst: parent === list[0], engine });
}

export interface FirstPreview {
  /** Creates a composer without data after a day. */
  readonly composerUntil: (until: Day) => Composer;
  readonly indexId: string;
  readonly engine: Engine;
}

/**
 * Number of days after the base date in which the first rebalance is searched. Each further attempt covers four times
 * as many days.
 */
const FIRST_SPAN = 14;

/**
 * Optimises a derived index at the first rebalance of its parent: the first session with a price on or after the base
 * date.
 * @throws Refusal NO_DATA_AT_DATE if the store has no such session, and the refusals of any preview
 */
export function previewFirst({ composerUntil, indexId, engine }: FirstPreview): DerivedPreview {
  let composer = composerUntil(0);
  const parent = composer.document(findParent(composer, indexId));
  const last = composer.market(parent.id).market.dates.at(-1) ?? 0;
  for (let span = FIRST_SPAN; ; span *= 4) {
    const endDay = Math.min(parseValidDay(parent.base_date) + span, last);
    composer = composerUntil(endDay);
    const [first] = listParentRebalances(composer, parent.id);
    if (first !== undefined)
      return previewAt(composer, indexId, { session: first.session, parent: first, isFirst: true, engine });
    if (endDay === last) throw reportNoRebalance(parent, last);
  }
}

function findParent(composer: Composer, indexId: string): string {
  const document = composer.document(indexId);
  if (!isDerivedDocument(document)) throw new Error(`the index ${indexId} is not derived`);
  return document.derivation.source_index_id;
}

function listParentRebalances(composer: Composer, indexId: string): readonly Composition[] {
  return composeAsKnown(composer, indexId)?.list ?? [];
}

function reportNoRebalance(parent: IndexDocument, asOf: Day): Refusal {
  return refuseBeforeFirstRebalance(`The parent ${parent.id}`, parent, asOf);
}

interface PreviewedRebalance {
  readonly session: number;
  readonly parent: Composition;
  readonly isFirst: boolean;
  readonly engine: Engine;
}

function previewAt(
  composer: Composer,
  indexId: string,
  { session, parent, isFirst, engine }: PreviewedRebalance,
): DerivedPreview {
  const document = composer.document(indexId);
  if (!isDerivedDocument(document)) throw new Error(`the index ${indexId} is not derived`);
  const solver = createDerivedSolver({ document, composer, engine });
  const earlierPortfolios =
    isFirst || !solver.remembers ? NO_EARLIER_PORTFOLIOS : findWeightsBefore(composer, indexId, parent);
  const solve = solver.solve(parent, earlierPortfolios);
  if (solve.outcome.kind !== 'solved') throw refuseInfeasible(solver.solvers, solve);
  const sm = composer.market(document.derivation.source_index_id);
  requireRates(sm, solve.columns, { currency: document.currency, session });
  return {
    sm,
    document,
    session,
    parent,
    candidates: { columns: solve.columns, index: solve.problem.index },
    held: listHeldWeights(solve),
    sides: listRowSides(solve.problem, solve.outcome.solution),
    before: computeFigures(solve.problem, solve.problem.index),
    after: computeFigures(solve.problem, solve.outcome.solution.weights),
    relaxed: solve.relaxed,
    pooled: solve.risk.pooled ?? null,
    findings: listFindings(solve, sm),
  };
}

const NO_EARLIER_PORTFOLIOS: EarlierPortfolios = { previous: null, outgoing: null };

/** Returns the portfolios of the derived index before a rebalance, from a run of its definition. */
function findWeightsBefore(composer: Composer, indexId: string, parent: Composition): EarlierPortfolios {
  try {
    const { list } = composer.compositions(indexId);
    const before = findCompositionInForce(list, parent.session - 1);
    return {
      previous: list.findLast(({ decision }) => decision < parent.decision) ?? null,
      outgoing: before === undefined ? null : { ...before, effective: parent.session },
    };
  } catch (failure) {
    // An index without a first composition has no previous weights. The preview then shows what the rows give on the
    // day.
    if (failure instanceof Refusal && MISSING_COMPOSITION_CODES.has(failure.code)) return NO_EARLIER_PORTFOLIOS;
    throw failure;
  }
}

/** Refusals that an index without a first composition may cause. */
const MISSING_COMPOSITION_CODES: ReadonlySet<ErrorCode> = new Set([
  'EMPTY_INDEX',
  'NO_DATA_IN_RANGE',
  'INFEASIBLE',
  'SOLVER_FAILED',
]);

/** Converts the preview of a derived index to the form of a rule-based preview, for comparisons of weights. */
export function toRulePreview({ sm, session, held, findings }: DerivedPreview): RulePreview {
  return {
    resolved: {
      sm,
      session,
      universe: held.columns,
      decision: {
        ...toDecision(held, findings),
        waterfall: [],
        unweighted: new Int32Array(0),
      },
    },
  };
}

/**
 * Returns the weights that an optimisation run would find. The problem has the window, securities and findings of the
 * run.
 * @throws Refusal as a run
 */
export function previewOptimisation(question: ProblemQuestion): DerivedPreview {
  const { composer, engine, indexId, constraints, spec } = question;
  const { sm, target, candidates, problem, risk, findings } = createRunProblem(question);
  const solvers = { solver: createSolver(engine), algebra: engine };
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') throw refuseInfeasible(solvers, { problem, outcome });
  const index = composer.document(indexId);
  requireRates(sm, candidates.columns, { currency: index.currency, session: target.session });
  return {
    sm,
    document: {
      ...index,
      pipeline: null,
      derivation: { ...spec, source_index_id: indexId, constraints: [...constraints] },
    },
    session: target.session,
    parent: target,
    candidates,
    held: selectHeldWeights(candidates.columns, outcome.solution.weights),
    sides: listRowSides(problem, outcome.solution),
    before: computeFigures(problem, problem.index),
    after: computeFigures(problem, outcome.solution.weights),
    relaxed: [],
    pooled: risk.pooled ?? null,
    findings,
  };
}
