import { isLongTerm, matchReplacements, SHARES_MIN, type Replacement, type WashRule } from './wash-sales.js';

/** Sale of shares of a lot. A lot of which the loss is partly disallowed has two sales. */
export interface TaxedSale {
  /** Index of the lot. */
  readonly lot: number;
  readonly shares: number;
  /** Gain that is taxed, in money; 0 if the loss is disallowed. */
  readonly gain: number;
  /** Loss that is added to the basis of the replacement, in money. */
  readonly disallowed: number;
  readonly isLong: boolean;
}

export interface TaxedSales {
  readonly sales: readonly TaxedSale[];
  readonly replacements: readonly Replacement[];
  /** Sums of the taxed gains by term, in money. */
  readonly short: number;
  readonly long: number;
}

/**
 * Computes the taxed gains of sales under the wash sale rule.
 * @param sold  number of shares sold, by lot
 * @param priceOf  price per share
 */
export function computeTaxedSales(
  rule: WashRule,
  sold: ReadonlyMap<number, number>,
  priceOf: (identifier: string) => number,
): TaxedSales {
  const replacements = matchReplacements(rule, sold, priceOf);
  const replacedShares = new Map<number, number>();
  for (const { sold: lot, shares } of replacements) replacedShares.set(lot, (replacedShares.get(lot) ?? 0) + shares);
  const sales: TaxedSale[] = [];
  const sums = { short: 0, long: 0 };
  for (const [lot, shares] of sold) {
    const { identifier, cost, acquired } = rule.lots[lot]!;
    const gain = priceOf(identifier) - cost;
    const isLong = isLongTerm(acquired, rule.asOf);
    const replaced = replacedShares.get(lot) ?? 0;
    if (replaced > 0) sales.push({ lot, shares: replaced, gain: 0, disallowed: -replaced * gain, isLong });
    const left = shares - replaced;
    if (!(left > (replaced > 0 ? SHARES_MIN : 0))) continue;
    sales.push({ lot, shares: left, gain: left * gain, disallowed: 0, isLong });
    sums[isLong ? 'long' : 'short'] += left * gain;
  }
  return { sales, replacements, ...sums };
}
