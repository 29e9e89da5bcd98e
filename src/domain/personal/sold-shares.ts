import type { AccountTrades } from '#kernels/lots/trade-figures.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';

/** Minimum size of a trade as a fraction of the account value; smaller trades are rounding errors. */
export const TRADE_MIN = 1e-10;

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
  return terms.whole_shares && Math.abs(shares - roundedShares) < 1e-6 * Math.max(1, roundedShares)
    ? roundedShares
    : shares;
}
