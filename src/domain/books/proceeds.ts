/** Long and short weights of a book, both as positive numbers. */
export interface Sides {
  readonly long: number;
  readonly short: number;
}

export interface ProceedsInput {
  /**
   * Weights of the securities that left. For long positions these are proceeds, for short positions the cost of
   * covering them.
   */
  readonly left: Sides;
  /** Weights of the remaining securities, which take over the weights of those that left. */
  readonly rest: Sides;
  readonly cash: number;
  /** Cost per unit of traded notional. */
  readonly costRate: number;
}

/** Effect of securities that left on the remaining securities, relative to the value before costs. */
export interface ProceedsOutcome {
  /** Factors on the weights of remaining long and short positions. */
  readonly long: number;
  readonly short: number;
  /** Change of cash. */
  readonly cash: number;
  /** Value after costs as a fraction of the value before. */
  readonly retained: number;
}

/**
 * Distributes the weight of securities that left over the remaining securities of that side, in proportion to their
 * weights. Proceeds of long positions buy long positions. The cost of covering short positions is raised by further
 * short sales, so that long and short exposure are unchanged. If no long position remains, the proceeds stay in cash.
 * If no short position remains, covers are paid from proceeds, then from cash, then by selling long positions.
 */
export function spreadSides({ left, rest, cash, costRate }: ProceedsInput): ProceedsOutcome {
  const hasLong = rest.long > 0;
  const hasShort = rest.short > 0;
  const net = hasShort ? left.long : left.long - left.short;
  const fromCash = hasShort ? 0 : Math.min(Math.max(-net, 0), hasLong ? Math.max(cash, 0) : Infinity);
  const toLong = net + fromCash;
  const boughtWeight = !hasLong ? 0 : toLong >= 0 ? toLong / (1 + costRate) : toLong / (1 - costRate);
  const paidByLong = hasLong ? toLong - boughtWeight : 0;
  const soldWeight = hasShort ? left.short / (1 - costRate) : 0;
  return {
    long: hasLong ? 1 + boughtWeight / rest.long : 1,
    short: hasShort ? 1 + soldWeight / rest.short : 1,
    cash: (hasLong ? 0 : toLong) - fromCash,
    retained: hasShort ? 1 - paidByLong - (soldWeight - left.short) : 1 - paidByLong,
  };
}

/** Sums long and short weights separately, as magnitudes. */
export function sumSides(weights: Iterable<number>): Sides {
  let long = 0;
  let short = 0;
  for (const weight of weights) {
    if (weight > 0) long += weight;
    else short -= weight;
  }
  return { long, short };
}

/** Fraction of the value below which cash counts as a rounding error. */
const CASH_MIN = 1e-9;

/**
 * Returns the weights of the remaining securities after they take over the weights of the leaving securities. The
 * invested fraction is unchanged.
 */
export function takeOverSecurity(staying: Float64Array, leaving: Float64Array): Float64Array {
  const [remainingSides, leftSides] = [sumSides(staying), sumSides(leaving)];
  const cash = 1 - (remainingSides.long - remainingSides.short + leftSides.long - leftSides.short);
  const isAllLong = Math.abs(cash) <= CASH_MIN && remainingSides.short === 0 && leftSides.short === 0;
  if (isAllLong) return staying.map((weight) => weight / remainingSides.long);
  const { long, short } = spreadSides({ left: leftSides, rest: remainingSides, cash, costRate: 0 });
  return staying.map((weight) => weight * (weight > 0 ? long : short));
}
