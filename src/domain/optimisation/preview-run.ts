import { createSolver } from '#kernels/optimisation/solve-program.js';
import { requireRates } from '../market/exchange-rates.js';
import { selectHeldWeights } from './derived/select-held-weights.js';
import { computeFigures } from './outcome.js';
import type { DerivedPreview } from './preview.js';
import { listRowSides } from './report.js';
import { createRunProblem, type ProblemQuestion } from './run-problem.js';
import { solveProblem } from './search.js';
import { refuseInfeasible } from './explain-unsolved.js';

/**
 * Returns the weights that an optimisation run would find. The problem has the window, securities and findings of the
 * run.
 * @throws Refusal as a run
 */
export function previewOptimisation(question: ProblemQuestion): DerivedPreview {
  const { composer, engine, indexId, constraints, spec } = question;
  const { sm, target, candidates, problem, findings } = createRunProblem(question);
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
    findings,
  };
}
