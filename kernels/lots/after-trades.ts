import type { AccountProgram } from './account-program.js';

/** Trades that are already decided, and the trades that each security may still make. */
export interface SettledTrades {
  /** Signed net trades, [n]. */
  readonly net: Float64Array;
  /** Gains realised by the sales. */
  readonly short: number;
  readonly long: number;
  /** Lots of security i that may still be sold are first[i] to end[i] - 1, [n]. */
  readonly first: Int32Array;
  readonly end: Int32Array;
  readonly buyLimit: Float64Array;
}

/** Applies decided trades to an account. Returns the reduced account and the trading costs. */
export function applyTrades(
  program: AccountProgram,
  { net, short, long, first, end, buyLimit }: SettledTrades,
): { readonly reduced: AccountProgram; readonly spent: number } {
  const { n, lotSize, lotShort, lotLong, costRate } = program;
  const lotStart = new Int32Array(n + 1);
  const remainingLots: number[] = [];
  let cost = 0;
  for (let i = 0; i < n; i++) {
    cost += Math.abs(net[i]!) * costRate[i]!;
    for (let l = first[i]!; l < end[i]!; l++) remainingLots.push(l);
    lotStart[i + 1] = remainingLots.length;
  }
  const pick = (values: Float64Array): Float64Array => {
    const selectedValues = new Float64Array(remainingLots.length);
    for (let position = 0; position < remainingLots.length; position++)
      selectedValues[position] = values[remainingLots[position]!]!;
    return selectedValues;
  };
  const reducedProgram: AccountProgram = {
    ...program,
    heldWeights: program.heldWeights.map((weight, i) => weight + net[i]!),
    buyLimit,
    lotStart,
    rows: program.rows.map((row) => ({ ...row, constant: row.constant + row.cost * cost })),
    fixedShort: program.fixedShort + short,
    fixedLong: program.fixedLong + long,
    lotSize: pick(lotSize),
    lotShort: pick(lotShort),
    lotLong: pick(lotLong),
  };
  return { reduced: reducedProgram, spent: cost };
}
