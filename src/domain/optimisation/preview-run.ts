import { createSolver } from '#kernels/optimisation/solve-program.js';
import { requireRates } from '../market/exchange-rates.js';
import { heldPlaces } from './held-places.js';
import { figuresOf } from './outcome.js';
import type { DerivedPreview } from './preview.js';
import { rowSides } from './report.js';
import { problemOfRun, type ProblemQuestion } from './run-problem.js';
import { solveProblem } from './search.js';
import { refusalOf } from './unsolved.js';

/**
 * Returns the weights that an optimisation would find, from the problem of its run: the same window, securities and
 * findings.
 * @throws Refusal as a run
 */
export function previewOptimisation(question: ProblemQuestion): DerivedPreview {
  const { composer, engine, indexId, constraints, spec } = question;
  const { sm, target, candidates, problem, findings } = problemOfRun(question);
  const solvers = { solver: createSolver(engine), algebra: engine };
  const outcome = solveProblem(solvers, problem);
  if (outcome.kind !== 'solved') throw refusalOf(solvers, { problem, outcome });
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
    held: heldPlaces(candidates.columns, outcome.solution.weights),
    sides: rowSides(problem, outcome.solution),
    before: figuresOf(problem, problem.index),
    after: figuresOf(problem, outcome.solution.weights),
    relaxed: [],
    findings,
  };
}
