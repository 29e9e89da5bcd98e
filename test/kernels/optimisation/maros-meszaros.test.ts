import { describe, expect, test } from 'vitest';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { IS_SOAK } from '../../soak.js';
import {
  computeBoundMultipliers,
  isThere,
  listProblemNames,
  listPublishedOptima,
  readProblem,
} from './maros-problem.js';
import { computeRationalResiduals } from './rational.js';

if (!isThere) console.log('the Maros-Meszaros problems are not in ../shared: their test is skipped');
else if (!IS_SOAK) console.log('a part of the Maros-Meszaros problems; SOAK=1 solves all of them, which takes minutes');

/** Maximum relative deviation from the published optimum. */
const TOLERANCE = 1e-5;

/** Maximum residual, absolute, in the units of the file and computed in exact arithmetic. */
const RESIDUAL_MAX = 5e-6;

/** Problems of `npm test`. They are the quickest of each kind of curvature and each magnitude of coefficients. */
const QUICK = [
  'DPKLO1',
  'DUAL4',
  'DUALC1',
  'GENHS28',
  'HS118',
  'HS268',
  'HS76',
  'LOTSCHD',
  'PRIMALC1',
  'QADLITTL',
  'QAFIRO',
  'QE226',
  'QPCBOEI2',
  'QSCAGR7',
  'QSHARE2B',
  'TAME',
  'ZECEVIC2',
];

const optima = listPublishedOptima();

describe.skipIf(!isThere)('the Maros-Meszaros problems', () => {
  const engine = isThere ? openWasmEngine() : (undefined as never); // the module exists wherever the tests run
  const solver = createSolver(engine);

  test.each(listProblemNames().filter((name) => IS_SOAK || QUICK.includes(name)))(
    '%s is solved, with small residuals in rational arithmetic',
    (name) => {
      const { program, constant } = readProblem(name);
      const answer = solver.solve(program);
      expect(answer.status, JSON.stringify(answer.kkt)).toBe('solved');
      const { x, rowMultipliers } = answer.point;
      const objective =
        computeMetricSquare(program.metric!, x) / 2 +
        program.linear.reduce((sum, value, i) => sum + value * x[i]!, constant);
      const optimum = optima.get(name);
      if (optimum !== undefined)
        expect(Math.abs(objective - optimum) / Math.max(1, Math.abs(optimum))).toBeLessThan(TOLERANCE);
      const residuals = computeRationalResiduals(
        program,
        x,
        rowMultipliers,
        computeBoundMultipliers(program, answer.point),
      );
      for (const [kind, residual] of Object.entries(residuals))
        expect(residual, kind).toBeLessThanOrEqual(RESIDUAL_MAX);
    },
    240_000,
  );
});
