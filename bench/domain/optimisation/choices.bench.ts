import { findObjectiveClass } from '#domain/definition/objectives.js';
import { type ProofDepth, solveProblem } from '#domain/optimisation/search.js';
import { openNativeEngine } from '#kernels/engines/native.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { openHighs, solveByHighs, type ChoiceMilp } from '../../../test/domain/optimisation/choice-milp.js';
import { createProblemFamily } from './problem-family.js';

/**
 * Measures how the optimiser chooses the best portfolio with a limited number of securities. Prints the processor time
 * of the search, without and with a certified bound, and the remaining gap as a share of the objective. Then the bench
 * measures choices with a linear objective. It compares them with the solutions that the mixed-integer solver HiGHS
 * finds in the same wall-clock time and in a minute.
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

/**
 * Objective, number of securities, maximum number of holdings, and number of sessions. Each session is a scenario of a
 * tail objective.
 */
const LINEAR = [
  ['max_return', 100, 20, SESSIONS],
  ['max_return', 200, 30, SESSIONS],
  ['max_return', 500, 60, SESSIONS],
  ['min_cvar', 40, 8, 250],
  ['min_cvar', 60, 10, 250],
  ['min_cvar', 100, 15, 250],
] as const;
const POSITION_LIMITS = { threshold: 0.01, cap: 0.15 };
const TURNOVER = 0.6;
const CONFIDENCE = 0.95;
const MINUTE = 60;

const engine = openNativeEngine();
for (const [type, names, maximum] of CASES) {
  const entry = findObjectiveClass(type)!;
  const rows = [{ type: 'Cardinality', params: { maximum } }];
  const objective = { entry, params: entry.params.parse({}) };
  const problem = createProblemFamily(names, SESSIONS).createProblem(rows, objective, engine);
  const results = ([undefined, undefined, 'quick', 'thorough'] as const).map((proof) =>
    measure(() => solveWith(proof)),
  );
  function solveWith(proof: ProofDepth | undefined) {
    const outcome = solveProblem({ solver: createSolver(engine), algebra: engine }, problem, { proof });
    if (outcome.kind !== 'solved') throw new Error(`${type}: no answer`);
    return outcome.solution;
  }
  const [, plainResult, quick, thorough] = results; // The first solve compiles the code.
  const provenTexts = [quick!, thorough!].map(({ result: { objective, bound, isHeuristic }, ms }) => {
    const gapText = isHeuristic ? `gap ${((100 * (objective - bound)) / objective).toFixed(2)} %` : 'optimal';
    return `${ms.toFixed(0)} ms, ${gapText}`;
  });
  console.log(
    `${type.padEnd(20)} ${maximum} of ${names}`.padEnd(34),
    `${plainResult!.ms.toFixed(0)} ms; quick ${provenTexts[0]}; thorough ${provenTexts[1]}`,
  );
}

const highs = await openHighs();
if (typeof highs === 'string') console.log(`no comparison: ${highs}`);
else for (const type of LINEAR) compare(highs, type);

function compare(peer: Exclude<typeof highs, string>, [type, names, maximum, sessions]: (typeof LINEAR)[number]): void {
  const entry = findObjectiveClass(type)!;
  const family = createProblemFamily(names, sessions);
  const rows = [
    { type: 'Cardinality', params: { maximum } },
    { type: 'MinimumHolding', params: { threshold: POSITION_LIMITS.threshold } },
    { type: 'PositionBounds', params: { upper: POSITION_LIMITS.cap } },
    ...(type === 'max_return' ? [{ type: 'Turnover', params: { limit: TURNOVER, reference: 'previous' } }] : []),
  ];
  const params = entry.params.parse(type === 'min_cvar' ? { confidence: CONFIDENCE } : {});
  const problem = family.createProblem(rows, { entry, params }, engine);
  const answer = () => {
    const begin = performance.now();
    const outcome = solveProblem({ solver: createSolver(engine), algebra: engine }, problem);
    if (outcome.kind !== 'solved') throw new Error(`${type}: no answer`);
    return { ...outcome.solution, seconds: (performance.now() - begin) / 1e3 };
  };
  answer(); // The first call compiles the code.
  const { value, bound, seconds } = answer();
  const milp: ChoiceMilp = {
    names,
    goal:
      type === 'max_return'
        ? { kind: 'return', returns: family.means }
        : { kind: 'tail', returns: family.returns, confidence: CONFIDENCE },
    maximum,
    ...POSITION_LIMITS,
    ...(type === 'max_return' ? { turnover: { from: family.previous, limit: TURNOVER } } : {}),
  };
  const [shortAnswer, minuteAnswer] = [seconds, MINUTE].map((limit) => {
    const peerAnswer = solveByHighs(peer, milp, limit);
    return peerAnswer === undefined
      ? 'none'
      : `${peerAnswer.value.toFixed(6)}${peerAnswer.isOptimal ? ' (optimal)' : ''}`;
  });
  console.log(
    `${type.padEnd(20)} ${maximum} of ${names}`.padEnd(34),
    `${value.toFixed(6)} in ${(1e3 * seconds).toFixed(0)} ms, bound ${bound.toFixed(6)}; HiGHS in the same time ${shortAnswer}, in a minute ${minuteAnswer}`,
  );
}

function measure<T>(work: () => T): { readonly result: T; readonly ms: number } {
  const begin = process.cpuUsage();
  const result = work();
  const { user, system } = process.cpuUsage(begin);
  return { result, ms: (user + system) / 1e3 };
}
