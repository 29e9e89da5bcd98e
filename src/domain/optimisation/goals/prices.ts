import { raiseToPower } from '#kernels/power.js';
import { sumKinks, type Kink, type Program } from '#kernels/optimisation/program/program.js';
import type { TradeCosts } from '../../objectives/goal.js';

/** Returns the program with the penalties of soft rows and of kink sums multiplied by a factor. */
export function scalePrices(program: Program, scale: number): Program {
  if (scale === 1) return program;
  const { rows, kinks } = program;
  return {
    ...program,
    rows: { ...rows, penalty: rows.penalty.map((penalty) => penalty * scale) },
    kinks: kinks.map((kink) =>
      kink.limit === null
        ? { ...kink, left: kink.left.map((slope) => slope * scale), right: kink.right.map((slope) => slope * scale) }
        : { ...kink, penalty: kink.penalty * scale },
    ),
  };
}

/** Adds the linear trading cost to the objective of a program. */
export function addLinearCost(program: Program, costs: TradeCosts | null): Program {
  if (costs === null || costs.linear === 0) return program;
  const kink: Kink = {
    at: costs.reference,
    left: new Float64Array(program.n).fill(-costs.linear),
    right: new Float64Array(program.n).fill(costs.linear),
    limit: null,
    penalty: 1,
  };
  return { ...program, kinks: [...program.kinks, kink] };
}

/** Returns the cost of the trades to some weights, as a fraction of the portfolio value. */
export function computeCost(costs: TradeCosts | null, weights: Float64Array): number {
  if (costs === null) return 0;
  const { linear, impact, reference, fixed } = costs;
  return weights.reduce((sum, weight, i) => {
    const trade = Math.abs(weight - reference[i]!);
    return sum + linear * trade + impact * raiseToPower(trade, 1.5);
  }, fixed);
}

/** Returns the penalty of violated soft rows and of kink sums at some weights. */
export function computePrices(
  { n, rows, kinks }: Pick<Program, 'n' | 'rows' | 'kinks'>,
  weights: Float64Array,
): number {
  let total = 0;
  for (let r = 0; r < rows.count; r++) {
    if (!Number.isFinite(rows.penalty[r]!)) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * weights[i]!;
    total += rows.penalty[r]! * Math.max(0, value - rows.upper[r]!, rows.lower[r]! - value);
  }
  for (const kink of kinks) {
    if (kink.limit === null) total += sumKinks(kink, weights);
    else if (Number.isFinite(kink.penalty)) total += kink.penalty * Math.max(0, sumKinks(kink, weights) - kink.limit);
  }
  return total;
}
