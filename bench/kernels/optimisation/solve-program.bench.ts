import { createSolver } from '#kernels/optimisation/solve-program.js';
import { measure } from '../measure.js';
import { trackingProgram, type FamilySize } from './tracking-family.js';

const SIZES: readonly (FamilySize & { readonly label: string })[] = [
  { label: 'base 134', names: 200, observations: 504, turnover: null },
  { label: 'base 334', names: 500, observations: 504, turnover: null },
  { label: 'base 667', names: 1000, observations: 756, turnover: null },
  { label: 'base 1334', names: 2000, observations: 756, turnover: null },
  { label: 'turn 134', names: 200, observations: 504, turnover: 0.02 },
  { label: 'turn 334', names: 500, observations: 504, turnover: 0.02 },
  { label: 'turn 667', names: 1000, observations: 756, turnover: 0.02 },
];

await measure(
  'solveProgram, cold',
  SIZES.map((size) => ({
    size: size.label,
    prepare(engine) {
      const program = trackingProgram(size);
      const solver = createSolver(engine);
      return () => {
        const { status, point } = solver.solve(program);
        if (status !== 'solved' || (size.turnover !== null && !(point.kinkMultipliers[0]! > 0)))
          throw new Error(`${size.label}: ${status}`);
      };
    },
  })),
  ['wasm', 'openblas'],
);
