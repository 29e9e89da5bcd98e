import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openNumericEngine } from '#kernels/engines/open-engine.js';
import { createSolver } from '#kernels/optimisation/solve-program.js';
import { computeBoundMultipliers, readProblem } from '../../../test/kernels/optimisation/maros-problem.js';
import { readFolder, refuse, readText } from '../../variables.js';
import { runPeer } from './outside-peers.js';
import { measureTime } from './quadratic.js';

/**
 * Measures the Maros-Meszaros problems. Prints the processor time of a warm solve, and the absolute residuals. A Python script computes the residuals in exact fractions. It reads
 * only the problem files and the solutions. It also solves each problem with cvxopt.
 */
const FOLDER = readFolder('BENCH_MAROS');
const PYTHON = readText('BENCH_PYTHON')!;
const SCRIPT = fileURLToPath(new URL('../../../../bench/kernels/optimisation/maros-residuals.py', import.meta.url));

/**
 * Time limit of the script for a problem, in seconds. cvxopt takes up to one second, and the exact fractions take a few
 * seconds.
 */
const SCRIPT_SECONDS = 300;

if (FOLDER === undefined) refuse('BENCH_MAROS names the folder with the problems, as .mat files; it is not given');
const names = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.mat'))
  .map((file) => file.slice(0, -'.mat'.length))
  .toSorted();
if (names.length === 0 || !existsSync(SCRIPT)) refuse(`${FOLDER} has no .mat files`);

interface Line {
  readonly isDense: boolean;
  readonly ms: number;
  readonly largest: number;
  readonly peerMs: number;
  readonly peerLargest: number;
}

const { engine } = await openNumericEngine('auto');
const solver = createSolver(engine);
const scratch = mkdtempSync(join(tmpdir(), 'maros-'));
const lines = names.map(createLine);
rmSync(scratch, { recursive: true });
printSummary(
  'dense problems',
  lines.filter(({ isDense }) => isDense),
);
printSummary('all problems', lines);

function createLine(name: string): Line {
  const { program, isDense, toFile } = readProblem(name, FOLDER);
  let values = new Float64Array(0);
  const { ms } = measureTime(() =>
    engine.scope(() => {
      const { point } = solver.solve(program);
      values = Float64Array.of(...point.x, ...toFile(point.rowMultipliers, computeBoundMultipliers(program, point)));
      return point.x;
    }),
  );
  const file = join(scratch, name);
  writeFileSync(file, values);
  const [primal, dual, gap, peerMs, peerPrimal, peerDual, peerGap] = runPeer(
    PYTHON,
    [SCRIPT, join(FOLDER!, `${name}.mat`), file],
    SCRIPT_SECONDS,
  )
    .trim()
    .split(/\s+/)
    .map(Number) as [number, number, number, number, number, number, number];
  const [largest, peerLargest] = [Math.max(primal, dual, gap), Math.max(peerPrimal, peerDual, peerGap)];
  const formatNumbers = (...all: number[]) => all.map((value) => value.toExponential(1).padStart(8)).join(' ');
  console.log(
    `${name.padEnd(9)} ${isDense ? 'dense' : 'large'} ${String(program.n).padStart(5)} x ${String(program.rows.count).padEnd(5)}` +
      `${ms.toFixed(1).padStart(8)} ms ${formatNumbers(primal, dual, gap)} ${largest <= 1e-9 ? 'yes' : 'no '}` +
      `  cvxopt ${peerMs.toFixed(1).padStart(8)} ms ${formatNumbers(peerPrimal, peerDual, peerGap)} ${peerLargest <= 1e-9 ? 'yes' : 'no'}`,
  );
  return { isDense, ms, largest, peerMs, peerLargest };
}

function printSummary(label: string, some: readonly Line[]): void {
  const computeMean = (values: readonly number[]) =>
    Math.exp(values.reduce((sum, value) => sum + Math.log(Math.max(value, 1e-3)), 0) / values.length);
  const count = (is: (line: Line) => boolean) => `${some.filter(is).length} of ${some.length}`;
  console.log(
    `${label}: ${count((of) => of.largest <= 1e-9)} at 1e-9, ${count((of) => of.largest <= 1e-6)} at 1e-6, geometric mean ${computeMean(some.map(({ ms }) => ms)).toFixed(1)} ms, ` +
      `slowest ${Math.max(...some.map(({ ms }) => ms)).toFixed(0)} ms; cvxopt ${count((of) => of.peerLargest <= 1e-9)}, ` +
      `geometric mean ${computeMean(some.map(({ peerMs }) => peerMs)).toFixed(1)} ms`,
  );
}
