import { sumKinks, type Program } from '#kernels/optimisation/program/program.js';
import { computeNormForce } from '#kernels/optimisation/program/norms.js';
import { computeDotProduct } from '../../numbers/dot.js';
import type { RowWithOrigin } from '../problem.js';
import type { RowSide } from '../report.js';
import type { ConvexSolution } from '../solve-convex.js';

/** Distance below which a bound counts as active, as for `RowSide`. */
const ACTIVE_TOLERANCE = 1e-7;

/** Rounding tolerance of a row's remainder, relative to the row's largest coefficient. */
const ROUNDING = 1e-9;

/** Gradient of an active bound of the program. */
interface ActiveBound {
  readonly placed: RowWithOrigin | undefined;
  /** [n] */
  readonly gradient: Float64Array;
}

/**
 * Finds active bounds that follow from other active bounds. Several sets of multipliers then satisfy the optimality
 * conditions, so a multiplier is not the price of such a bound. Equalities and default rows are excluded.
 * @cost m^2 n for m active rows
 * @source Nocedal & Wright (2006), Numerical Optimization, section 12.3: linear independence of the active constraints.
 */
export function findDependentSides({ assembled, answer }: ConvexSolution, sides: readonly RowSide[]): Set<RowSide> {
  const { program } = assembled;
  const { x } = answer.point;
  const activeBounds = listActiveBounds({ assembled, answer });
  const isFree = markFreeSecurities(program, x);
  const rows = new Set<RowWithOrigin>();
  const names = new Set<number>();
  for (const shares of findDependencies(activeBounds, isFree)) {
    const sum = new Float64Array(program.n);
    shares.forEach((share, r) => {
      const { placed, gradient } = activeBounds[r]!;
      if (Math.abs(share) <= ROUNDING) return;
      if (placed !== undefined) rows.add(placed);
      for (let i = 0; i < sum.length; i++) sum[i]! += share * gradient[i]!;
    });
    for (let i = 0; i < sum.length; i++) if (Math.abs(sum[i]!) > ROUNDING) names.add(i);
  }
  const sharedBounds = listSharedBounds(sides);
  const isDependent = ({ placed, side, isBinding }: RowSide): boolean => {
    const { row, origin } = placed;
    if (!isBinding || side === 'eq' || origin.index === null) return false;
    return row.form === 'name' ? names.has(row.name) || sharedBounds.has(`${side} ${row.name}`) : rows.has(placed);
  };
  return new Set(sides.filter(isDependent));
}

/** Returns the weight bounds that several of the client's rows set. */
function listSharedBounds(sides: readonly RowSide[]): Set<string> {
  const seenKeys = new Set<string>();
  const sharedBounds = new Set<string>();
  for (const { placed, side, isBinding } of sides) {
    const { row, origin } = placed;
    if (row.form !== 'name' || !isBinding || origin.index === null || origin.soft !== null) continue;
    for (const bound of side === 'eq' ? ['lower', 'upper'] : [side]) {
      const key = `${bound} ${row.name}`;
      if (seenKeys.has(key)) sharedBounds.add(key);
      seenKeys.add(key);
    }
  }
  return sharedBounds;
}

/** Returns the active linear rows, kink limits and norm limits, with their gradients. */
function listActiveBounds({ assembled, answer }: Pick<ConvexSolution, 'assembled' | 'answer'>): ActiveBound[] {
  const { program, linear, kinks, norms } = assembled;
  const { n, rows } = program;
  const { x } = answer.point;
  const activeBounds: ActiveBound[] = [];
  for (let r = 0; r < rows.count; r++) {
    const gradient = rows.coefficients.subarray(r * n, (r + 1) * n);
    const value = computeDotProduct(gradient, x);
    if (Math.min(Math.abs(value - rows.lower[r]!), Math.abs(value - rows.upper[r]!)) <= ACTIVE_TOLERANCE)
      activeBounds.push({ placed: linear[r], gradient });
  }
  program.kinks.forEach((kink, k) => {
    if (kink.limit === null || Math.abs(sumKinks(kink, x) - kink.limit) > ACTIVE_TOLERANCE) return;
    const { at, left, right } = kink;
    activeBounds.push({ placed: kinks[k], gradient: x.map((value, i) => (value > at[i]! ? right[i]! : left[i]!)) });
  });
  program.norms.forEach((norm, q) => {
    const offset = x.map((value, i) => value - norm.centre[i]!);
    const force = computeNormForce(program, norm, offset, new Float64Array(n));
    const length = Math.sqrt(Math.max(0, computeDotProduct(force, offset)));
    if (length > ACTIVE_TOLERANCE && Math.abs(length - norm.radius) <= ACTIVE_TOLERANCE)
      activeBounds.push({ placed: norms[q], gradient: force });
  });
  return activeBounds;
}

/** Returns 1 for securities that neither a bound nor a kink holds, [n]. */
function markFreeSecurities({ lower, upper, kinks }: Program, x: Float64Array): Uint8Array {
  const freeFlags = Uint8Array.from(x, (value, i) =>
    Number(value - lower[i]! > ACTIVE_TOLERANCE && upper[i]! - value > ACTIVE_TOLERANCE),
  );
  for (const kink of kinks) {
    const { at, left, right, limit } = kink;
    const isMet = limit === null || sumKinks(kink, x) >= limit - ACTIVE_TOLERANCE;
    for (let i = 0; i < x.length; i++)
      if (isMet && left[i] !== right[i] && Math.abs(x[i]! - at[i]!) <= ACTIVE_TOLERANCE) freeFlags[i] = 0;
  }
  return freeFlags;
}

/**
 * Returns the linear combinations of rows that are zero on all free securities, as coefficients by row. They are
 * computed by Gaussian elimination with the largest coefficient as pivot.
 */
function findDependencies(activeBounds: readonly ActiveBound[], isFree: Uint8Array): Float64Array[] {
  const results: Float64Array[] = [];
  const pivots: { readonly at: number; readonly row: Float64Array; readonly shares: Float64Array }[] = [];
  activeBounds.forEach(({ gradient }, r) => {
    const row = gradient.map((value, i) => (isFree[i] === 1 ? value : 0));
    const shares = new Float64Array(activeBounds.length);
    shares[r] = 1;
    for (const pivot of pivots) {
      const factor = row[pivot.at]! / pivot.row[pivot.at]!;
      if (factor === 0) continue;
      for (let i = 0; i < row.length; i++) row[i]! -= factor * pivot.row[i]!;
      for (let k = 0; k <= r; k++) shares[k]! -= factor * pivot.shares[k]!;
      row[pivot.at] = 0;
    }
    const largest = row.reduce((best, value, i) => (Math.abs(value) > Math.abs(row[best]!) ? i : best), 0);
    const size = gradient.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (Math.abs(row[largest]!) > ROUNDING * size) pivots.push({ at: largest, row, shares });
    else if (size > 0) results.push(shares);
  });
  return results;
}
