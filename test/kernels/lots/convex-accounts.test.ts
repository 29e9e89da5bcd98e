import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { AccountProgram } from '#kernels/lots/account-program.js';
import { computePricesAt } from '#kernels/lots/trade-figures.js';
import { type AccountSolution, solveAccount } from '#kernels/lots/solve-account.js';
import { createRandomConvexAccount } from './convex-accounts.js';

/** Optimal objectives that cvxopt computed. `python3 convex-reference.py` writes them. */
const REFERENCE = JSON.parse(readFileSync('test/kernels/lots/convex-reference.json', 'utf8')) as readonly number[];
const hasPython = spawnSync('python3', ['--version']).status === 0;

/** Returns an account and its answer as JSON, for scripts in other languages. */
export function toJson(program: AccountProgram, answer?: AccountSolution): string {
  const toPlain = (_: string, value: unknown): unknown =>
    ArrayBuffer.isView(value) ? Array.from(value as Float64Array) : value === Infinity ? 'inf' : value;
  if (answer === undefined) return JSON.stringify(program, toPlain);
  const { side, multipliers } = answer.certificates[answer.certificateIndex]!;
  const prices = computePricesAt(program, program.sides[side]!, multipliers);
  return JSON.stringify({ program, trades: answer.trades, multipliers, prices }, toPlain);
}

describe('a convex account', () => {
  test.each(REFERENCE.map((objective, i) => ({ seed: i + 1, objective })))(
    'has the objective that cvxopt finds ($seed)',
    ({ seed, objective }) => {
      const answer = solveAccount(createRandomConvexAccount(seed), { nodes: 0 });
      expect(answer.status).toBe('optimal');
      expect(Math.abs(answer.figures.objective - objective)).toBeLessThan(1e-9);
    },
  );

  test.runIf(hasPython).each([1, 2, 3, 4, 5, 6])(
    'meets the conditions of optimality by an independent script (%i)',
    (seed) => {
      const program = createRandomConvexAccount(seed);
      const inputJson = toJson(program, solveAccount(program, { nodes: 0 }));
      const { stdout, stderr } = spawnSync('python3', ['test/kernels/lots/check-kkt.py'], {
        input: inputJson,
        encoding: 'utf8',
      });
      expect(stderr).toBe('');
      const { worst } = JSON.parse(stdout) as { readonly worst: number };
      expect(worst).toBeLessThan(1e-7);
    },
  );

  test.runIf(hasPython)('violates them after another trade', () => {
    const program = createRandomConvexAccount(3);
    const answer = solveAccount(program, { nodes: 0 });
    answer.trades.bought[4]! += 0.002;
    const { stdout } = spawnSync('python3', ['test/kernels/lots/check-kkt.py'], {
      input: toJson(program, answer),
      encoding: 'utf8',
    });
    expect((JSON.parse(stdout) as { readonly worst: number }).worst).toBeGreaterThan(1e-5);
  });
});
