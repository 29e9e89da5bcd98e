import type { AccountTrades } from '#kernels/lots/trade-figures.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';

/** Minimum size of a trade as a fraction of the account value; smaller trades are rounding errors. */
export const TRADE_MIN = 1e-10;
/** Maximum difference from a whole lot that is a rounding error, relative to the lot. */
const SIZE_TOLERANCE = 1e-9;

/** Returns the number of shares that are sold, by lot: those of excluded securities first. */
export function listSoldShares(
  common: BatchCommon,
  { program, lots, account, value, forced, priceOf }: BuiltAccount,
  { sold }: AccountTrades,
): ReadonlyMap<number, number> {
  const soldShares = new Map(forced.sales.map(({ lot }) => [lot, account.lots[lot]!.shares]));
  const soldWeights = new Map<number, number>();
  const chosenShares = new Map<number, number>();
  lots.forEach(({ lot, shares }, l) => {
    const weight = sold[l]!;
    if (!(weight > 0)) return;
    const isWhole = weight === program.lotSize[l];
    const added = isWhole ? shares : (weight * value) / priceOf(account.lots[lot]!.identifier);
    soldWeights.set(lot, (soldWeights.get(lot) ?? 0) + weight);
    chosenShares.set(lot, (chosenShares.get(lot) ?? 0) + added);
  });
  for (const [lot, shares] of chosenShares)
    if (soldWeights.get(lot)! > TRADE_MIN)
      soldShares.set(lot, Math.min(roundShares(shares, common), account.lots[lot]!.shares));
  return soldShares;
}

/** Rounds shares to whole numbers if only whole shares are traded. This removes rounding errors of weights. */
export function roundShares(shares: number, { terms }: BatchCommon): number {
  const roundedShares = Math.round(shares);
  return terms.whole_shares && Math.abs(shares - roundedShares) < 1e-9 * Math.max(1, roundedShares)
    ? roundedShares
    : shares;
}

/**
 * Distributes the shares sold by lot over the lots of the program, in their order.
 * @returns weights sold, and the weights by lot that the program does not contain
 */
export function splitSoldShares(
  { account, program, lots, value, forced, priceOf }: BuiltAccount,
  soldShares: ReadonlyMap<number, number>,
): { readonly sold: Float64Array; readonly left: ReadonlyMap<number, number> } {
  const forcedLots = new Set(forced.sales.map(({ lot }) => lot));
  const left = new Map<number, number>();
  for (const [lot, shares] of soldShares)
    if (!forcedLots.has(lot)) left.set(lot, (shares * priceOf(account.lots[lot]!.identifier)) / value);
  const sold = Float64Array.from(program.lotSize, (size, l) => {
    const weight = left.get(lots[l]!.lot) ?? 0;
    const taken = weight > size * (1 - SIZE_TOLERANCE) ? size : weight;
    left.set(lots[l]!.lot, Math.max(0, weight - taken));
    return taken;
  });
  return { sold, left };
}
