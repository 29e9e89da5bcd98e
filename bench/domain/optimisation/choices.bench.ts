import { findObjectiveClass } from '#domain/objectives/catalogue.js';
import { solveProblem, type Proof } from '#domain/optimisation/search.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { problemFamily } from './problem-family.js';

/**
 * The best of a number of names: processor time of the search without a certified bound and with it, and the gap that
 * is left, as a share of the objective.
 */
const CASES = [
  ['min_tracking_error', 60, 15],
  ['min_tracking_error', 100, 20],
  ['min_tracking_error', 200, 30],
  ['min_tracking_error', 500, 60],
  ['min_variance', 200, 15],
  ['min_variance', 500, 20],
] as const;
const SESSIONS = 1260;

const engine = openNativeEngine();
for (const [type, names, maximum] of CASES) {
  const entry = findObjectiveClass(type)!;
  const rows = [{ type: 'Cardinality', params: { maximum } }];
  const objective = { entry, params: entry.params.parse({}) };
  const problem = problemFamily(names, SESSIONS).problemOf(rows, objective, engine);
  const results = ([undefined, undefined, 'quick', 'thorough'] as const).map((proof) => solved(() => solveWith(proof)));
  function solveWith(proof: Proof | undefined) {
    const outcome = solveProblem({ solver: createSolver(engine), algebra: engine }, problem, { proof });
    if (outcome.kind !== 'solved') throw new Error(`${type}: no answer`);
    return outcome.solution;
  }
  const [, plain, quick, thorough] = results; // The first one compiles.
  const proven = [quick!, thorough!].map(({ result: { objective, bound, isHeuristic }, ms }) => {
    const gap = isHeuristic ? `gap ${((100 * (objective - bound)) / objective).toFixed(2)} %` : 'optimal';
    return `${ms.toFixed(0)} ms, ${gap}`;
  });
  console.log(
    `${type.padEnd(20)} ${maximum} of ${names}`.padEnd(34),
    `${plain!.ms.toFixed(0)} ms; quick ${proven[0]}; thorough ${proven[1]}`,
  );
}

function solved<T>(work: () => T): { readonly result: T; readonly ms: number } {
  const begin = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(begin);
  return { result, ms: (user + system) / 1e3 };
}
