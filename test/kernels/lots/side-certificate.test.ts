import { expect, test } from 'vitest';
import { findLeastBound, shareCertificates, transferCertificate } from '#kernels/lots/branch-proof.js';
import { solveAccount } from '#kernels/lots/solve-account.js';
import { createRandomAccount } from './random-account.js';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);

test.each(SEEDS)('multipliers of one side of the tax prove a bound below the best trades on the other (%i)', (seed) => {
  const program = createRandomAccount({
    seed,
    n: 6,
    k: 2,
    lotsPerSecurity: 2,
    aversion: 1,
    trackingLimit: seed % 2 === 0 ? 0.03 : Infinity,
  });
  expect(program.sides).toHaveLength(2);
  const { certificates, figures } = solveAccount(program, { nodes: 0 });
  for (const certificate of certificates) {
    const both = program.sides.map((_, side) =>
      side === certificate.side ? certificate : transferCertificate(program, certificate, side),
    );
    expect(findLeastBound(both)).toBeLessThanOrEqual(figures.objective + 1e-9);
  }
});

test('a certificate is replaced only by one with a higher bound', () => {
  for (const seed of SEEDS) {
    const program = createRandomAccount({ seed, n: 6, k: 2, lotsPerSecurity: 2, aversion: 1, trackingLimit: Infinity });
    const { certificates, figures } = solveAccount(program, { nodes: 0 });
    const weakened = certificates.map((certificate, position) =>
      position === 0 ? { ...certificate, bound: certificate.bound - 1 } : { ...certificate },
    );
    const shared = weakened.slice();
    shareCertificates(program, shared, figures.objective);
    shared.forEach(({ side, bound }, position) => {
      expect(side).toBe(weakened[position]!.side);
      expect(bound).toBeGreaterThanOrEqual(weakened[position]!.bound);
    });
    expect(findLeastBound(shared)).toBeLessThanOrEqual(figures.objective + 1e-9);
  }
});

test('the proof of a branch counts instead of the bound of its side', () => {
  const { certificates } = solveAccount(
    createRandomAccount({ seed: 1, n: 4, k: 1, lotsPerSecurity: 1, aversion: 1, trackingLimit: Infinity }),
    { nodes: 0 },
  );
  const [first] = certificates;
  const proof = { bound: first!.bound + 0.5, steps: [], multipliers: [] };
  expect(findLeastBound([{ ...first!, proof }])).toBe(first!.bound + 0.5);
});
