/** Weights of a book by side; both as magnitudes. */
export interface Sides {
  readonly long: number;
  readonly short: number;
}

export interface ProceedsInput {
  /** Weights of the names that left: what the long ones brought, and what covering the short ones took. */
  readonly left: Sides;
  /** Weights of the names that take them over. */
  readonly rest: Sides;
  readonly cash: number;
  /** Cost of a unit of traded notional. */
  readonly costRate: number;
}

/** What names that left do to those that stay, of the value before costs. */
export interface ProceedsOutcome {
  /** What long and short weights are multiplied by. */
  readonly long: number;
  readonly short: number;
  /** Change of the cash. */
  readonly cash: number;
  /** Value after costs as a fraction of the value before. */
  readonly retained: number;
}

/**
 * Spreads what left over the names of the same side in proportion to their weights: proceeds of long names buy long
 * names, and what short names took is raised by selling short names, so that the book is long and short by as much as
 * before. Without a long name left the proceeds stay in cash. Without a short name left covers are paid from proceeds,
 * then from cash, then by selling long names.
 */
export function spreadSides({ left, rest, cash, costRate }: ProceedsInput): ProceedsOutcome {
  const hasLong = rest.long > 0;
  const hasShort = rest.short > 0;
  const net = hasShort ? left.long : left.long - left.short;
  const fromCash = hasShort ? 0 : Math.min(Math.max(-net, 0), hasLong ? Math.max(cash, 0) : Infinity);
  const toLong = net + fromCash;
  const bought = !hasLong ? 0 : toLong >= 0 ? toLong / (1 + costRate) : toLong / (1 - costRate);
  const paidByLong = hasLong ? toLong - bought : 0;
  const sold = hasShort ? left.short / (1 - costRate) : 0;
  return {
    long: hasLong ? 1 + bought / rest.long : 1,
    short: hasShort ? 1 + sold / rest.short : 1,
    cash: (hasLong ? 0 : toLong) - fromCash,
    retained: hasShort ? 1 - paidByLong - (sold - left.short) : 1 - paidByLong,
  };
}

/** Weights by side. */
export function sidesOf(weights: Iterable<number>): Sides {
  let long = 0;
  let short = 0;
  for (const weight of weights) {
    if (weight > 0) long += weight;
    else short -= weight;
  }
  return { long, short };
}

/** What rounding leaves of 1 is no cash. */
const CASH_MIN = 1e-9;

/** Weights of names that stay after they took over those of names that left: what was invested still is. */
export function takeOver(staying: Float64Array, leaving: Float64Array): Float64Array {
  const [rest, left] = [sidesOf(staying), sidesOf(leaving)];
  const cash = 1 - (rest.long - rest.short + left.long - left.short);
  const isAllLong = Math.abs(cash) <= CASH_MIN && rest.short === 0 && left.short === 0;
  if (isAllLong) return staying.map((weight) => weight / rest.long);
  const { long, short } = spreadSides({ left, rest, cash, costRate: 0 });
  return staying.map((weight) => weight * (weight > 0 ? long : short));
}
