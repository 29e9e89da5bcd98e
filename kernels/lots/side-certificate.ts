import type { AccountProgram } from './account-program.js';
import type { BranchProof } from './branch-proof.js';
import { computeDualBound } from './dual-bound.js';
import { listRelaxedRows, type Multipliers } from './relaxation.js';

/**
 * Gap that may be due to rounding to permitted trades; further rounds and the other side of the tax do not reduce it.
 */
export const GAP_ROUNDED = 1e-5;

/** Multipliers of one side of the tax, and the lower bound that they prove. */
export interface SideCertificate {
  readonly side: number;
  readonly multipliers: Multipliers;
  readonly bound: number;
  /** Proof of a higher bound, if the search found one. */
  readonly proof?: BranchProof | undefined;
}

/** Returns the lowest bound of all sides. */
export const findLeastBound = (certificates: readonly SideCertificate[]): number =>
  Math.min(...certificates.map(({ bound, proof }) => proof?.bound ?? bound));

/**
 * Replaces each certificate that leaves a gap by a certificate from the multipliers of another side, if that one has a
 * higher bound.
 * @cost O(N) for each pair of sides
 * @source S. Boyd and L. Vandenberghe, Convex Optimization, 2004, section 5.2: every multiplier proves a bound
 */
export function shareCertificates(program: AccountProgram, certificates: SideCertificate[], merit: number): void {
  for (const sideCertificate of certificates.slice())
    certificates.forEach(({ side, bound }, position) => {
      if (side === sideCertificate.side || merit - bound < GAP_ROUNDED) return;
      const certificate = transferCertificate(program, sideCertificate, side);
      if (certificate.bound > bound) certificates[position] = certificate;
    });
}

/**
 * Returns the bound on another side that the multipliers of one side prove, with the same prices of gains if the pieces
 * of the other side permit them.
 */
export function transferCertificate(
  program: AccountProgram,
  sideCertificate: SideCertificate,
  side: number,
): SideCertificate {
  const from = program.sides[sideCertificate.side]!;
  const to = program.sides[side]!;
  const m = program.rows.length;
  const prices = { short: 0, long: 0 };
  from.pieces.forEach((piece, position) => {
    prices.short += sideCertificate.multipliers.rows[m + position]! * piece.short;
    prices.long += sideCertificate.multipliers.rows[m + position]! * piece.long;
  });
  if (from.longSign !== 0) prices.long -= from.longSign * sideCertificate.multipliers.rows[m + from.pieces.length]!;
  const rows = new Float64Array(listRelaxedRows(program, to).length);
  rows.set(sideCertificate.multipliers.rows.subarray(0, m));
  const [high, low] = [to.pieces[0]!, to.pieces.at(-1)!];
  const range = program.taxWeight * (high.short - low.short);
  const share = range > 0 ? Math.min(1, Math.max(0, (prices.short - program.taxWeight * low.short) / range)) : 1;
  rows[m] = program.taxWeight * share;
  rows[m + to.pieces.length - 1] = program.taxWeight * (1 - share);
  const long = program.taxWeight * (share * high.long + (1 - share) * low.long);
  if (to.longSign !== 0) rows[m + to.pieces.length] = Math.max(0, to.longSign * (long - prices.long));
  const multipliers = { ...sideCertificate.multipliers, rows };
  return { side, multipliers, bound: computeDualBound(program, to, multipliers).bound };
}
