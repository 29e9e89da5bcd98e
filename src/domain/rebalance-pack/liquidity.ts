/** Position to trade. */
export interface Position {
  readonly shares: number;
  readonly price: number;
  /** Mean daily volume in shares; null or 0 if there is none. */
  readonly adv: number | null;
}

/**
 * Returns the number of days needed for an order that may use a share of the daily volume. Returns null without a
 * volume.
 */
export function computeDaysToTrade(
  { shares, adv }: Pick<Position, 'shares' | 'adv'>,
  participation: number,
): number | null {
  return adv === null || adv === 0 ? null : Math.abs(shares) / (participation * adv);
}

/** Numbers of days for which liquidation is reported. */
const LIQUIDATION_DAYS = [1, 2, 3, 5, 10, 20, 60, 120, 250] as const;

/**
 * Returns the fraction of the value of positions that can be sold within each of `LIQUIDATION_DAYS`. Returns an empty
 * list without positions. Positions without a volume cannot be sold.
 */
export function computeLiquidation(positions: readonly Position[], participation: number) {
  const total = positions.reduce((sum, { shares, price }) => sum + Math.abs(shares) * price, 0);
  if (total === 0) return [];
  const computeSoldValue = (days: number): number =>
    positions.reduce(
      (sum, { shares, price, adv }) => sum + Math.min(Math.abs(shares), days * participation * (adv ?? 0)) * price,
      0,
    );
  return LIQUIDATION_DAYS.map((days) => ({ days, share: computeSoldValue(days) / total }));
}

/** Numbers of days for which capacity is reported. */
const CAPACITY_DAYS = [1, 5, 10] as const;

/**
 * Returns the largest value that can be bought at the weights within each of `CAPACITY_DAYS`. The value is null if a
 * security has no volume.
 */
export function computeCapacity(
  names: readonly { readonly weight: number; readonly price: number; readonly adv: number | null }[],
  participation: number,
) {
  const weightedNames = names.filter(({ weight }) => weight !== 0);
  const oneDay = weightedNames.reduce((least, { weight, price, adv }) => {
    return Math.min(least, (participation * (adv ?? 0) * price) / Math.abs(weight));
  }, Infinity);
  return CAPACITY_DAYS.map((days) => ({ days, aum: Number.isFinite(oneDay) && oneDay > 0 ? days * oneDay : null }));
}
