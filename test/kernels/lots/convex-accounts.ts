import type { AccountProgram } from '#kernels/lots/account-program.js';
import { createRandomAccount } from './random-account.js';

/**
 * Returns an account with gains in every lot and earlier net losses. Its problem is convex, and the tax has kinks.
 * Every second account has a limit.
 */
export function createRandomConvexAccount(seed: number): AccountProgram {
  const trackingLimit = seed % 2 === 0 ? 0.03 : Infinity;
  const program = createRandomAccount({ seed, n: 30, k: 4, lotsPerSecurity: 3, aversion: 1, trackingLimit });
  return {
    ...program,
    lotShort: program.lotShort.map(Math.abs),
    lotLong: program.lotLong.map(Math.abs),
    fixedShort: -0.004 * seed,
    fixedLong: 0.001 * seed,
  };
}
