import type { AccountProgram } from './account-program.js';
import type { Multipliers, RelaxedRow } from './relaxation.js';
import { sortSales, type GainPrices } from './relaxed-trades.js';

/** Fraction of the mean weight by which sales may go below the target at first. */
const TARGET_MARGIN = 0.25;

/**
 * Returns the lots to consider first: lots sold at a loss, and further lots in the order of sale until the target is
 * reached. `addOfferedLots` adds the lots that a solution lacks.
 */
export function listOfferedLots(program: AccountProgram, prices: GainPrices): Uint8Array {
  const { n, lotStart, lotSize, lotShort, lotLong, isOrdered, heldWeights, target, upper } = program;
  const isOffered = new Uint8Array(lotSize.length);
  for (let i = 0; i < n; i++) {
    const isWhole = isOrdered[i] === 1 || upper[i]! < heldWeights[i]!;
    const sufficientSale = heldWeights[i]! - target[i]! + TARGET_MARGIN / n;
    let soldWeight = 0;
    for (const l of sortSales(program, i, prices)) {
      const price = prices.short * lotShort[l]! + prices.long * lotLong[l]!;
      if (!isWhole && price > 0 && soldWeight >= sufficientSale) break;
      isOffered[l] = 1;
      soldWeight += lotSize[l]!;
    }
    if (isWhole) isOffered.fill(1, lotStart[i], lotStart[i + 1]);
  }
  return isOffered;
}

/**
 * Savings that are negligible, as fractions of the account value: if any fraction may trade, and for whole shares,
 * whose rounding costs more.
 */
const SAVING_MIN = 5e-11;
const SAVING_MIN_ROUNDED = 1e-9;

/**
 * Adds all lots of the securities of which the solution would sell an omitted lot, if their total saving is not
 * negligible.
 * @param rows  rows returned by `listRelaxedRows`
 * @returns false if the saving is negligible: the solution is optimal with all lots
 */
export function addOfferedLots(
  program: AccountProgram,
  offered: Uint8Array,
  rows: readonly RelaxedRow[],
  { weights, multipliers }: { readonly weights: Float64Array; readonly multipliers: Multipliers },
): boolean {
  const { n, k, loadings, specific, target, lotStart, lotSize, lotShort, lotLong, costRate } = program;
  const averseness = program.aversion + multipliers.variance;
  const prices = { short: 0, long: 0, cost: 1 };
  rows.forEach((row, j) => {
    prices.short += multipliers.rows[j]! * row.short;
    prices.long += multipliers.rows[j]! * row.long;
    prices.cost += multipliers.rows[j]! * row.cost;
  });
  let saving = 0;
  const lackingLots: number[] = [];
  for (let i = 0; i < n; i++) {
    let slope = specific[i]! * (weights[i]! - target[i]!);
    for (let f = 0; f < k; f++) slope += loadings[i * k + f]! * multipliers.exposures[f]!;
    slope *= 2 * averseness;
    rows.forEach((row, j) => void (row.weights !== null && (slope += multipliers.rows[j]! * row.weights[i]!)));
    const keepingCost = prices.cost * costRate[i]! - slope;
    let securitySaving = 0;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++)
      if (offered[l] === 0)
        securitySaving -=
          lotSize[l]! * Math.min(0, prices.short * lotShort[l]! + prices.long * lotLong[l]! + keepingCost);
    if (securitySaving > 0) lackingLots.push(i);
    saving += securitySaving;
  }
  if (saving <= (program.unit.some((step) => step > 0) ? SAVING_MIN_ROUNDED : SAVING_MIN)) return false;
  for (const i of lackingLots) offered.fill(1, lotStart[i], lotStart[i + 1]);
  return true;
}
