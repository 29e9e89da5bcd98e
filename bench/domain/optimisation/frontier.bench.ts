import { wasmEngine } from '#kernels/engines/wasm.js';
import { createSolver, type Solver } from '#kernels/optimisation/solve-program.js';
import { frontierOf } from '#domain/optimisation/frontier.js';
import { solveProblem } from '#domain/optimisation/search.js';
import { problemFamily } from './problem-family.js';

/**
 * The frontier of 21 points and its tangency for 500 names under an exclusion and a turnover limit that binds, with and without
 * group and position rows, beside the same without turnover.
 */
const engine = wasmEngine();
const exclude = (family: ReturnType<typeof problemFamily>) => ({
  type: 'Exclude',
  params: { identifiers: family.identifiers.filter((_, i) => i % 17 === 5) },
});

for (const sessions of [504, 1260, 5040]) {
  const family = problemFamily(500, sessions);
  const out = exclude(family);
  const sold = family.index.reduce((sum, weight, i) => sum + (i % 17 === 5 ? weight : 0), 0);
  const turnover = { type: 'Turnover', params: { limit: 1.5 * sold } };
  const others = [
    { type: 'PositionBounds', params: { upper: 0.03 } },
    { type: 'ActiveGroupBounds', params: { field: 'SECTOR', lower: -0.02, upper: 0.02 } },
  ];
  for (const [label, rows] of Object.entries({
    Exclude: [out],
    'Exclude + others': [out, ...others],
    'Exclude + Turnover': [out, turnover],
    'Exclude + Turnover + others': [out, turnover, ...others],
  })) {
    const problem = family.problemOf(rows);
    const figures: Record<string, number> = {};
    let iterations = 0;
    const inner = createSolver(engine);
    const solver: Solver = {
      ...inner,
      solve(program, options) {
        const answer = inner.solve(program, options);
        const key = `${answer.status} ${answer.route}${options?.warm ? ' warm' : ''}`;
        figures[key] = (figures[key] ?? 0) + 1;
        iterations += answer.iterations;
        return answer;
      },
    };
    const begin = process.cpuUsage().user;
    engine.scope(() => solveProblem({ solver, algebra: engine }, problem));
    const solved = process.cpuUsage().user;
    const frontier = engine.scope(() => frontierOf({ solver, problem, means: family.means, riskFreeRate: 0 }));
    const traced = process.cpuUsage().user;
    console.log(
      `${sessions} sessions, ${label}: solve ${((solved - begin) / 1e3).toFixed(0)} ms, frontier ${((traced - solved) / 1e3).toFixed(0)} ms, ${iterations} iterations, ${JSON.stringify(figures)}, ${frontier?.points.at(10)?.volatility}`,
    );
  }
}
