import type { AccountTrades } from '#kernels/lots/trade-figures.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';

/** Tolerance of recomputed figures, as a fraction of the account value. */
export const TOLERANCE = 1e-9;
/** Maximum difference from a whole number of shares that counts as a rounding error, relative to the number. */
const SHARES_TOLERANCE = 1e-6;

/**
 * Reports purchases beyond their limit, purchases of securities that are also sold, lots sold out of order, fractions of
 * shares, and trades below the minimum.
 */
export function reportBrokenRules(
  common: BatchCommon,
  { program, names }: BuiltAccount,
  { bought, sold }: AccountTrades,
): string[] {
  const violations: string[] = [];
  for (let i = 0; i < program.n; i++) {
    const name = common.identifiers[names[i]!]!;
    let [amount, position, isComplete, isInOrder] = [0, 0, true, true];
    for (let l = program.lotStart[i]!; l < program.lotStart[i + 1]!; l++) {
      amount += sold[l]!;
      position += program.lotSize[l]!;
      if (sold[l]! > TOLERANCE && !isComplete) isInOrder = false;
      isComplete &&= sold[l]! >= program.lotSize[l]! * (1 - 1e-9);
    }
    if (program.isOrdered[i] === 1 && !isInOrder) violations.push(`lots of ${name} are not sold in their order`);
    if (bought[i]! > 0 && amount > 0) violations.push(`${name} is bought and sold`);
    if (bought[i]! > program.buyLimit[i]! + TOLERANCE) violations.push(`${name} may not be bought so much`);
    if (amount > 0 && Math.abs(amount - position) <= TOLERANCE * position) continue; // A whole position may be sold.
    const trade = Math.max(amount, bought[i]!);
    const count = program.unit[i]! > 0 ? trade / program.unit[i]! : 0;
    if (!(Math.abs(count - Math.round(count)) <= SHARES_TOLERANCE * Math.max(1, count)))
      violations.push(`${name} is not traded in whole shares`);
    if (trade > 0 && trade < program.minimumTrade[i]! - TOLERANCE)
      violations.push(`${name} trades less than the minimum`);
  }
  return violations;
}
