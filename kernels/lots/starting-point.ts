import type { StartingSolution, Relaxation } from './relaxation.js';

/** First iterate of the interior-point method. */
export interface StartingPoint {
  readonly traded: Float64Array;
  /** Multipliers of the rows, then of the variance limit if there is one. */
  readonly prices: Float64Array;
  /** Sum of the products of all complementary pairs. */
  readonly gap: number;
  /** Minimum slack of the rows, and minimum distance of the tax variable from its linear pieces. */
  readonly slack: number;
  readonly aboveTax: number;
}

/**
 * Minimum distance of the first iterate from its bounds, as a fraction of the size of a trade: far from a solution, and
 * near one.
 */
const DISTANCE_FAR = 0.05;
const DISTANCE_NEAR = 1e-3;
/** Smallest initial multiplier near a solution. */
const PRICE_MIN = 1e-5;

/** Returns a starting point without prior information about the solution. */
export function createFarPoint({ trades, rows, side, program }: Relaxation, penalties: Float64Array): StartingPoint {
  const startTrades = trades.size
    .map((size) => Math.min(size * 0.5, DISTANCE_FAR * size + 1e-6))
    .subarray(0, trades.count);
  const share = program.taxWeight / side.pieces.length;
  const prices = penalties.map((penalty, j) => (rows[j]?.tax === 1 ? share : Math.min(1e-3, penalty / 2)));
  return { traded: startTrades, prices, gap: 0.02, slack: 1e-4, aboveTax: 1e-3 };
}

/** Returns a starting point near the solution of a similar form. */
export function createNearPoint(
  { trades, rows, program }: Relaxation,
  penalties: Float64Array,
  { net, multipliers }: StartingSolution,
): StartingPoint {
  const { start, sign, size } = trades;
  const startTrades = new Float64Array(trades.count);
  for (let i = 0; i < program.n; i++) {
    let remainingTrade = net[i]!;
    for (let j = start[i]!; j < start[i + 1]!; j++) {
      const amount = Math.min(Math.max(0, sign[j]! * remainingTrade), size[j]!);
      remainingTrade -= sign[j]! * amount;
      startTrades[j] = Math.min(size[j]! * (1 - DISTANCE_NEAR), Math.max(size[j]! * DISTANCE_NEAR, amount));
    }
  }
  const prices = penalties.map((penalty, j) =>
    Math.min(
      Math.max(multipliers.rows[j] ?? multipliers.variance * program.varianceLimit, PRICE_MIN),
      Math.max(penalty - PRICE_MIN, penalty / 2),
    ),
  );
  let taxPriceSum = 0;
  rows.forEach(({ tax }, j) => void (taxPriceSum += tax * prices[j]!));
  rows.forEach(({ tax }, j) => void (tax === 1 && (prices[j]! *= program.taxWeight / taxPriceSum)));
  return { traded: startTrades, prices, gap: 1e-5, slack: 0, aboveTax: 1e-5 };
}
