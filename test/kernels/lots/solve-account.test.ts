import { describe, expect, it } from 'vitest';
import { computeProofBound } from '#kernels/lots/branch-proof.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import { solveAccount } from '#kernels/lots/solve-account.js';
import { IS_SOAK } from '../../soak.js';
import { solveByBruteForce, computeUsTax } from './brute-force.js';
import { createRandomAccount, type RandomTerms } from './random-account.js';
import { computeTax, type AccountProgram } from '#kernels/lots/account-program.js';

/** Seeds of accounts whose enumeration takes seconds. */
const LARGE = [3, 4, 6, 28, 30];

const CASES = [
  ...Array.from({ length: 10 }, (_, i) => ({
    seed: i + 1,
    n: 4,
    k: 2,
    lotsPerSecurity: 2,
    share: 0.05,
    isOrdered: true,
  })),
  ...Array.from({ length: 10 }, (_, i) => ({
    seed: i + 21,
    n: 3,
    k: 2,
    lotsPerSecurity: 2,
    share: 0.05,
    minimumTrade: i % 2 === 0 ? 0 : 0.1,
  })),
].filter(({ seed }) => IS_SOAK || !LARGE.includes(seed));

describe('solveAccount', () => {
  it.each(CASES)('finds the best of all whole-share trades of account $seed', (terms) => {
    const program = createRandomAccount(terms);
    const leastObjective = solveByBruteForce(program);
    const answer = solveAccount(program, { nodes: 3000 });
    if (leastObjective === Infinity) return expect(answer.status).toBe('infeasible');
    expect(answer.figures.objective).toBeCloseTo(leastObjective, 11);
    expect(answer.bound).toBeLessThanOrEqual(leastObjective + 1e-12);
  });

  it.each([
    ...[41, 43, 44, 48, 51, 60, 67].map((seed) => ({
      seed,
      n: 4,
      k: 2,
      lotsPerSecurity: 2,
      share: 0.05,
      isOrdered: true,
    })),
    ...[43, 45, 49, 50, 56, 60].map((seed) => ({ seed, n: 3, k: 2, lotsPerSecurity: 2, share: 0.05 })),
  ])('proves the best of all whole-share trades within a limit that binds, of account $seed', (terms) => {
    const freeSolution = solveAccount(createRandomAccount(terms), { nodes: 3000 });
    const program = createRandomAccount({ ...terms, trackingLimit: 0.9 * Math.sqrt(freeSolution.figures.variance) });
    const leastObjective = solveByBruteForce(program);
    expect(leastObjective).toBeGreaterThan(freeSolution.figures.objective);
    const { figures, bound, nodes } = solveAccount(program, { nodes: 3000 });
    expect([figures.objective, bound]).toEqual([
      expect.closeTo(leastObjective, 11),
      expect.closeTo(leastObjective, 11),
    ]);
    expect(nodes).toBeLessThan(100);
    expect(solveAccount(program, { nodes: 0 }).figures.objective).toBeCloseTo(leastObjective, 11);
  });

  it.each(
    [0, 6, 17, 21, 25, 27].flatMap((seed) =>
      [false, true].flatMap((isOrdered) =>
        [0, 0.1].flatMap((minimumTrade) => [20, 3000].map((nodes) => ({ seed, isOrdered, minimumTrade, nodes }))),
      ),
    ),
  )('proves no bound above the best trades, by regions that contain all trades (%o)', ({ nodes, ...own }) => {
    const program = createRandomAccount({ ...own, n: 3, k: 2, lotsPerSecurity: 2, share: 0.05 });
    const leastObjective = solveByBruteForce(program);
    const { bound, certificates } = solveAccount(program, { nodes });
    expect(bound).toBeLessThanOrEqual(leastObjective + 1e-11);
    for (const { side, proof } of certificates)
      if (proof !== undefined) {
        expect(computeProofBound(program, program.sides[side]!, proof)).toBe(proof.bound);
        // A proof that leaves out a region proves nothing.
        expect(computeProofBound(program, program.sides[side]!, { ...proof, steps: proof.steps.slice(1) })).not.toBe(
          proof.bound,
        );
      }
  });

  it.each([1, 2, 3, 4, 5])('rounds gains within a limit that binds at little cost (%i)', (seed) => {
    const terms = { seed, n: 60, k: 6, lotsPerSecurity: 4, isOrdered: true };
    const createGains = (overrides: Partial<RandomTerms>, taxWeight = 1): AccountProgram => {
      const program = createRandomAccount({ ...terms, ...overrides });
      return {
        ...program,
        taxWeight,
        lotShort: program.lotShort.map(Math.abs),
        lotLong: program.lotLong.map(Math.abs),
      };
    };
    const [freeSolution, nearSolution] = [createGains({}), createGains({ aversion: 1000 }, 1e-3)].map((own) =>
      Math.sqrt(solveAccount(own, { nodes: 0 }).figures.variance),
    ) as [number, number];
    const program = createGains({ share: 0.0003, trackingLimit: (freeSolution + nearSolution) / 2 });
    const { status, figures, bound } = solveAccount(program, { nodes: 0 });
    expect(status).toBe('optimal');
    expect(figures.variance).toBeLessThan(program.varianceLimit * (1 + 1e-9));
    expect(figures.objective - bound).toBeLessThan(3e-5); // the first trades within the limit would leave 4e-5 to 9e-4
  });

  it.each([1, 2, 3, 4, 5, 6])('proves the trades of an account of 120 securities to 1e-10 (%i)', (seed) => {
    const program = createRandomAccount({ seed, n: 120, k: 10, lotsPerSecurity: 5 });
    const { status, figures, bound, certificates } = solveAccount(program, { nodes: 0 });
    expect(status).toBe('optimal');
    expect(figures.objective - bound).toBeLessThan(1e-10);
    expect(figures.objective - bound).toBeGreaterThan(-1e-10);
    for (const { side, multipliers, bound: sideBound } of certificates)
      expect(computeDualBound(program, program.sides[side]!, multipliers).bound).toBe(sideBound);
  });

  it.each([1, 2, 3, 4])('needs one round on one side if only rounding remains (%i)', (seed) => {
    const program = createRandomAccount({ seed, n: 120, k: 10, lotsPerSecurity: 5, share: 0.0001 });
    const { status, figures, bound, certificates, steps } = solveAccount(program, { nodes: 0 });
    expect(status).toBe('optimal');
    expect(figures.objective - bound).toBeLessThan(1e-5);
    expect(steps).toBeLessThan(45); // two rounds would take 50 to 60 steps
    expect(certificates).toHaveLength(2);
    for (const { side, multipliers, bound: sideBound } of certificates)
      expect(computeDualBound(program, program.sides[side]!, multipliers).bound).toBe(sideBound);
  });

  it.each([1, 2, 3])('decides the marginal lots if gains precede losses (%i)', (seed) => {
    const program = createRandomAccount({ seed, n: 120, k: 10, lotsPerSecurity: 5, isOrdered: true });
    const { status, figures, bound, certificates, steps } = solveAccount(program, { nodes: 0 });
    expect(status).toBe('optimal');
    expect(figures.objective - bound).toBeLessThan(1.5e-5); // the convex hulls of the cost alone would leave 5e-5 to 2e-4
    expect(steps).toBeLessThan(120);
    for (const { side, multipliers, bound: sideBound } of certificates)
      expect(computeDualBound(program, program.sides[side]!, multipliers).bound).toBe(sideBound);
  });

  it('keeps a tracking error limit, at a cost', () => {
    const terms = { seed: 3, n: 60, k: 5, lotsPerSecurity: 4, aversion: 0.2 };
    const freeSolution = solveAccount(createRandomAccount(terms), { nodes: 0 });
    const limit = 0.7 * Math.sqrt(freeSolution.figures.variance);
    const bound = solveAccount(createRandomAccount({ ...terms, trackingLimit: limit }), { nodes: 0 });
    expect(Math.sqrt(bound.figures.variance)).toBeCloseTo(limit, 6);
    expect(bound.figures.objective).toBeGreaterThan(freeSolution.figures.objective);
    expect(bound.certificates[bound.certificateIndex]!.multipliers.variance).toBeGreaterThan(0);
  });

  it.each([1, 2, 3])('keeps every limit that some trades keep, whatever the cost (%i)', (seed) => {
    const terms = { seed, n: 40, k: 5, lotsPerSecurity: 4, isOrdered: true };
    // If taxes have a low weight, the tracking error is nearly the lowest possible. There a unit of variance costs more
    // than 100.
    const nearSolution = solveAccount(
      { ...createRandomAccount({ ...terms, aversion: 1000 }), taxWeight: 1e-3 },
      { nodes: 0 },
    );
    const limit = 1.2 * Math.sqrt(nearSolution.figures.variance) + 1e-4;
    const { status, figures, certificates, certificateIndex } = solveAccount(
      createRandomAccount({ ...terms, trackingLimit: limit }),
      {
        nodes: 0,
      },
    );
    expect(status).toBe('optimal');
    expect(Math.sqrt(figures.variance)).toBeLessThan(limit + 1e-7);
    expect(certificates[certificateIndex]!.multipliers.variance).toBeGreaterThan(100);
  });

  it('reports an account without permitted trades as infeasible', () => {
    const program = createRandomAccount({ seed: 5, n: 20, k: 3, lotsPerSecurity: 2, trackingLimit: 1e-3 });
    const stuckProgram = {
      ...program,
      buyLimit: new Float64Array(program.n),
      lower: program.heldWeights.map((w) => w * 0.99),
    };
    expect(solveAccount(stuckProgram, { nodes: 0 }).status).toBe('infeasible');
  });

  it('is bit-identical when repeated', () => {
    const terms = { seed: 9, n: 80, k: 6, lotsPerSecurity: 4, share: 0.0005 };
    const [one, two] = [
      solveAccount(createRandomAccount(terms), { nodes: 0 }),
      solveAccount(createRandomAccount(terms), { nodes: 0 }),
    ];
    expect(one).toEqual(two);
  });
});

describe('computeTax', () => {
  it.each([
    [0.02, 0.03],
    [0.02, -0.01],
    [0.01, -0.02],
    [-0.01, 0.02],
    [-0.03, 0.02],
    [-0.01, -0.02],
  ])('nets short-term gains %f and long-term gains %f as tax law requires', (short, long) => {
    const { sides } = createRandomAccount({ seed: 1, n: 2, k: 1, lotsPerSecurity: 1 });
    expect(computeTax(sides, short, long)).toBeCloseTo(computeUsTax(short, long), 15);
  });
});
