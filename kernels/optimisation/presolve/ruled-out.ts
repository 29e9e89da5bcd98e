import { isHard } from '../program/certificate.js';
import { PRIMAL_MAX } from '../program/kkt.js';
import type { Kink, Program } from '../program/program.js';

/**
 * Returns true if the bounds alone make the program infeasible. Either the bounds of a variable are contradictory, or
 * no point within the bounds satisfies a row or a kink limit. No solver needs to run then.
 * @cost    m n.
 * @source  Andersen & Andersen (1995), Presolving in linear programming, Mathematical Programming 71, section 3: bounds
 *          on the values of rows.
 */
export function isRuledOut(program: Program): boolean {
  const { n, lower, upper, rows, kinks } = program;
  for (let i = 0; i < n; i++) if (isBeyond(lower[i]!, upper[i]!, 1)) return true;
  for (let r = 0; r < rows.count; r++) if (!Number.isFinite(rows.penalty[r]!) && isOutOfReach(program, r)) return true;
  return kinks.some((kink) => isHard(kink) && isBeyond(computeLeastSum(kink, program), kink.limit!, n));
}

/**
 * Returns true if the smallest value of a sum exceeds a bound by more than a tolerance, which grows with the number or
 * magnitude of its terms.
 */
function isBeyond(least: number, bound: number, terms: number): boolean {
  return least - bound > 2 * PRIMAL_MAX * (1 + Math.abs(bound)) * (1 + terms);
}

function isOutOfReach({ n, lower, upper, rows }: Program, r: number): boolean {
  const from = r * n;
  let leastSum = 0;
  let mostSum = 0;
  let terms = 0;
  for (let i = 0; i < n; i++) {
    const coefficient = rows.coefficients[from + i]!;
    if (coefficient === 0) continue;
    const low = coefficient > 0 ? lower[i]! : upper[i]!;
    const high = coefficient > 0 ? upper[i]! : lower[i]!;
    leastSum += coefficient * low;
    mostSum += coefficient * high;
    terms += Math.abs(coefficient) * (1 + Math.max(measureBound(low), measureBound(high)));
  }
  return isBeyond(leastSum, rows.upper[r]!, terms) || isBeyond(-mostSum, -rows.lower[r]!, terms);
}

function measureBound(bound: number): number {
  return Number.isFinite(bound) ? Math.abs(bound) : 0;
}

/**
 * Returns the smallest value of the sum of a kink within the bounds. Each variable is then as near to its kink as its
 * bounds permit.
 */
function computeLeastSum({ at, left, right }: Kink, { n, lower, upper }: Program): number {
  let total = 0;
  for (let i = 0; i < n; i++) {
    if (left[i]! > 0 || right[i]! < 0) return Number.NEGATIVE_INFINITY;
    const step = Math.min(Math.max(at[i]!, lower[i]!), upper[i]!) - at[i]!;
    total += (step > 0 ? right[i]! : left[i]!) * step;
  }
  return total;
}
