import { rmSync } from 'node:fs';
import type { Engine } from '#kernels/engines/engine.js';
import { openEngine } from '#kernels/engines/open-engine.js';
import { wasmEngine } from '#kernels/engines/wasm.js';
import { metricMatrix } from '#kernels/optimisation/program/metric.js';
import { type Program, kinkSum } from '#kernels/optimisation/program/program.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { type FamilySize, trackingProgram } from './tracking-family.js';
import { npmPeer, python, rPeer, scratch, type Answer, type Peer } from './outside-peers.js';
import type { Quadratic } from './quadratic.js';
import { timed } from './timed.js';

const CASES: readonly (FamilySize & { readonly label: string })[] = [
  { label: 'base 134', names: 200, observations: 504, turnover: null },
  { label: 'base 334', names: 500, observations: 504, turnover: null },
  { label: 'turn 134', names: 200, observations: 504, turnover: 0.02 },
  { label: 'turn 334', names: 500, observations: 504, turnover: 0.02 },
];

/** Minutes, or out of memory: left out. */
const TOO_SLOW: Readonly<Record<string, readonly string[]>> = {
  'scipy SLSQP': ['turn 334'],
  'npm quadprog': ['turn 334'],
};

const engines: Engine[] = [wasmEngine()];
const { engine: native } = await openEngine('native');
if (native.name === 'native') engines.push(native);

const peers: Record<string, Peer | string> = {
  cvxopt: python('cvxopt'),
  'scipy SLSQP': python('slsqp'),
  'R quadprog': rPeer('quadprog'),
  'npm quadprog': npmPeer('quadprog'),
  'npm highs': npmPeer('highs'),
};
for (const [name, peer] of Object.entries(peers)) if (typeof peer === 'string') console.log(`${name}: absent, ${peer}`);

for (const size of CASES) {
  const program = trackingProgram(size);
  let reference: { objective: number; ms: number } | undefined;
  for (const engine of engines) {
    const answer = engine.scope(() => {
      const solver = createSolver(engine);
      return timed(() => {
        const { status, point } = solver.solve(program);
        if (status !== 'solved') throw new Error(`${size.label}: ${status}`);
        return point.x;
      });
    });
    reference ??= { objective: objectiveOf(program, answer.x), ms: answer.ms };
    print(size.label, `ours, ${engine.name}`, answer, program, reference);
  }
  const quadratic = quadraticOf(program);
  for (const [name, peer] of Object.entries(peers)) {
    if (typeof peer === 'string' || TOO_SLOW[name]?.includes(size.label) === true) continue;
    try {
      print(size.label, name, peer(quadratic), program, reference!);
    } catch (failure) {
      console.log(
        `${size.label}  ${name.padEnd(15)} failed: ${String(failure instanceof Error ? failure.message : failure)
          .split('\n')[0]!
          .slice(0, 120)}`,
      );
    }
  }
}
rmSync(scratch, { recursive: true });

function print(
  label: string,
  name: string,
  { ms, x }: Answer,
  program: Program,
  reference: { objective: number; ms: number },
): void {
  const own = x.slice(0, program.n);
  const gap = (objectiveOf(program, own) - reference.objective) / Math.abs(reference.objective);
  console.log(
    `${label}  ${name.padEnd(15)} ${ms.toFixed(2).padStart(9)} ms  ${(ms / reference.ms).toFixed(2).padStart(8)} x  gap ${gap.toExponential(1).padStart(8)}  violation ${violationOf(program, own).toExponential(1)}`,
  );
}

function objectiveOf({ n, metric, curvature, centre, linear }: Program, x: Float64Array): number {
  const matrix = metricMatrix(metric!); // The family has one.
  let total = 0;
  for (let i = 0; i < n; i++) {
    total += linear[i]! * x[i]!;
    for (let j = 0; j < n; j++)
      total += (curvature / 2) * (x[i]! - centre[i]!) * matrix[i * n + j]! * (x[j]! - centre[j]!);
  }
  return total;
}

function violationOf({ n, lower, upper, rows, kinks }: Program, x: Float64Array): number {
  let worst = 0;
  for (let i = 0; i < n; i++) worst = Math.max(worst, lower[i]! - x[i]!, x[i]! - upper[i]!);
  for (let r = 0; r < rows.count; r++) {
    const value = x.reduce((sum, weight, i) => sum + rows.coefficients[r * n + i]! * weight, 0);
    worst = Math.max(worst, rows.lower[r]! - value, value - rows.upper[r]!);
  }
  for (const kink of kinks) worst = Math.max(worst, kinkSum(kink, x) - kink.limit!);
  return worst;
}

/** A turnover limit becomes a trade t for each name, of at least the change either way. */
function quadraticOf({ n, metric, curvature, centre, linear, lower, upper, rows, kinks }: Program): Quadratic {
  const matrix = metricMatrix(metric!); // The family has one.
  const kink = kinks[0];
  const size = kink === undefined ? n : 2 * n;
  const hessian = new Float64Array(size * size);
  const force = Float64Array.from({ length: size }, (_, i) => (i < n ? linear[i]! : 0));
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      hessian[i * size + j] = curvature * matrix[i * n + j]!;
      force[i]! -= curvature * matrix[i * n + j]! * centre[j]!;
    }
  }
  const wide = (values: ArrayLike<number>) => Float64Array.from({ length: size }, (_, i) => (i < n ? values[i]! : 0));
  const all = Array.from({ length: rows.count }, (_, r) => ({
    coefficients: wide(rows.coefficients.subarray(r * n, r * n + n)),
    lower: rows.lower[r]!,
    upper: rows.upper[r]!,
  }));
  if (kink !== undefined) {
    for (let i = 0; i < n; i++) {
      for (const side of [1, -1]) {
        const coefficients = new Float64Array(size);
        coefficients[i] = side;
        coefficients[n + i] = -1;
        all.push({ coefficients, lower: -Infinity, upper: side * kink.at[i]! });
      }
    }
    all.push({
      coefficients: Float64Array.from({ length: size }, (_, i) => (i < n ? 0 : 1)),
      lower: -Infinity,
      upper: kink.limit!,
    });
  }
  const bound = (values: Float64Array, beyond: number) =>
    Float64Array.from({ length: size }, (_, i) => (i < n ? values[i]! : beyond));
  return { n: size, hessian, linear: force, lower: bound(lower, 0), upper: bound(upper, 2), rows: all };
}
