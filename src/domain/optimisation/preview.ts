import type { Engine } from '#kernels/engines/engine.js';
import { inForce, type Composer, type Composition } from '../backtest/simulate/compositions.js';
import { formatDay, type Day } from '../days.js';
import { isDerivedDocument, type DerivedDocument } from '../documents/index-document.js';
import type { Finding } from '../findings.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusal.js';
import { sessionWithData, type RulePreview } from '../rules/preview.js';
import { findingsOf, heldWeights } from './derived-decider.js';
import { createDerivedSolver, type DerivedSolve, type SolvedWeights } from './derived-solve.js';
import { explainChoice, explainInfeasibility, infeasibilitySentence } from './infeasibility.js';
import { rowSides, type RowSide } from './report.js';
import type { Solvers } from './search.js';

/** What a derived index would consist of: the optimisation at the parent's rebalance in force. */
export interface DerivedPreview {
  readonly sm: SessionMarket;
  readonly document: DerivedDocument;
  /** Latest session with data on or before the day asked for. */
  readonly session: number;
  readonly parent: Composition;
  readonly held: SolvedWeights;
  readonly sides: readonly RowSide[];
  readonly findings: readonly Finding[];
}

/**
 * Optimises a derived index at the latest rebalance of its parent on or before a day, by the same steps as a run, so that the
 * preview of a rebalance date is what the run holds after it.
 * @throws Refusal NO_DATA_AT_DATE, INFEASIBLE, SOLVER_FAILED, and what the parent's rules refuse
 */
export function previewDerived(composer: Composer, indexId: string, { asOf, engine }: { readonly asOf: Day; readonly engine: Engine }): DerivedPreview {
  const document = composer.document(indexId);
  if (!isDerivedDocument(document)) throw new Error(`the index ${indexId} is not derived`);
  const parentId = document.derivation.source_index_id;
  const sm = composer.market(parentId);
  const session = sessionWithData(sm, asOf);
  const { list } = session < 0 ? { list: [] } : composer.compositions(parentId);
  const parent = inForce(list, session);
  if (parent === undefined) throw new Refusal('NO_DATA_AT_DATE', `The parent ${parentId} has no rebalance on or before ${formatDay(asOf)}.`);
  const solver = createDerivedSolver({ document, composer, engine });
  const previous = solver.remembers ? previousWeights(composer, indexId, parent) : null;
  const solve = solver.solve(parent, previous);
  if (solve.outcome.kind !== 'solved') throw refusalOf(solver.solvers, solve);
  return { sm, document, session, parent, held: heldWeights(solve), sides: rowSides(solve.problem, solve.outcome.solution), findings: findingsOf(solve) };
}

/** Weights that the derived index held before a rebalance, run from the definition. */
function previousWeights(composer: Composer, indexId: string, parent: Composition): SolvedWeights | null {
  try {
    const { list } = composer.compositions(indexId);
    return list.findLast(({ decision }) => decision < parent.decision) ?? null;
  } catch (failure) {
    // An index without a first composition has no previous weights; the preview shows what the rows make of the day nevertheless.
    if (failure instanceof Refusal && (failure.code === 'EMPTY_INDEX' || failure.code === 'NO_DATA_IN_RANGE')) return null;
    throw failure;
  }
}

/** The refusal of a problem that has no answer, with its explanation. */
export function refusalOf(solvers: Solvers, { problem, outcome }: Pick<DerivedSolve, 'problem' | 'outcome'>): Refusal {
  const detail = outcome.kind === 'no-choice' ? explainChoice(solvers, problem, outcome.isProven) : explainInfeasibility(solvers, problem);
  if (detail === undefined) return new Refusal('SOLVER_FAILED', 'The solver found no weights, and no proof that there are none.');
  return new Refusal('INFEASIBLE', infeasibilitySentence(detail), { ...detail });
}

/** A derived preview as one by rules without rules: what comparisons of weights look at. */
export function asRulePreview({ sm, session, held, findings }: DerivedPreview): RulePreview {
  const { columns, weights } = held;
  return {
    resolved: {
      sm,
      session,
      universe: columns,
      decision: { kind: 'decided', columns, weights, uncapped: weights, cap: null, capped: new Int32Array(0), redistributed: 0, findings, waterfall: [], unweighted: new Int32Array(0) },
    },
  };
}
