import {
  type AccountProgram,
  computeFactorExposures,
  computeTax,
  computeTaxExcess,
  type TaxSide,
} from './account-program.js';
import { HARD_PENALTY } from './interior-point.js';
import { type GainPrices, listRelaxedRows, type Multipliers, sortSales } from './relaxation.js';

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

/** Purchases by security and sales by lot. */
export interface AccountTrades {
  readonly bought: Float64Array;
  readonly sold: Float64Array;
}

export interface TradeFigures {
  readonly objective: number;
  readonly variance: number;
  readonly short: number;
  readonly long: number;
  readonly cost: number;
  readonly tax: number;
  readonly weights: Float64Array;
  /** Violation of each row of the program. */
  readonly violations: Float64Array;
  /**
   * Largest violation of rows without a penalty, weight bounds, limits of the tax and the variance limit; the latter is
   * measured as tracking error.
   */
  readonly worst: number;
}

/** Maximum violation that counts as a rounding error. */
export const VIOLATION_MAX = 1e-7;

/**
 * Computes the figures of trades by their definitions.
 * @cost n k + lots + rows n
 * @source Grinold & Kahn (2000), Active Portfolio Management, 2nd ed., chapter 3
 */
export function computeTradeFigures(program: AccountProgram, { bought, sold }: AccountTrades): TradeFigures {
  const { n, k, heldWeights, target, specific, lotStart, lotShort, lotLong, costRate, rows, sides } = program;
  const weights = new Float64Array(n);
  const activeWeights = new Float64Array(n);
  let short = program.fixedShort;
  let long = program.fixedLong;
  let cost = 0;
  let variance = 0;
  for (let i = 0; i < n; i++) {
    let [weight, traded] = [heldWeights[i]! + bought[i]!, bought[i]!];
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) {
      weight -= sold[l]!;
      traded += sold[l]!;
      short += sold[l]! * lotShort[l]!;
      long += sold[l]! * lotLong[l]!;
    }
    cost += traded * costRate[i]!;
    weights[i] = weight;
    activeWeights[i] = weight - target[i]!;
    variance += specific[i]! * activeWeights[i]! * activeWeights[i]!;
  }
  const exposures = computeFactorExposures(program, activeWeights, new Float64Array(k));
  for (let f = 0; f < k; f++) variance += exposures[f]! * exposures[f]!;
  const tax = computeTax(sides, short, long);
  let objective = program.aversion * variance + cost + program.taxWeight * tax;
  let worst = Math.max(0, Math.sqrt(variance) - Math.sqrt(program.varianceLimit));
  const violations = Float64Array.from(rows, (row) => {
    let value = row.constant + row.short * short + row.long * long + row.cost * cost;
    if (row.weights !== null) for (let i = 0; i < n; i++) value += row.weights[i]! * weights[i]!;
    const violation = Math.max(0, value);
    if (row.penalty < Infinity) objective += row.penalty * violation;
    else worst = Math.max(worst, violation);
    return violation;
  });
  worst = Math.max(worst, computeTaxExcess(sides, short, long));
  for (let i = 0; i < n; i++) worst = Math.max(worst, program.lower[i]! - weights[i]!, weights[i]! - program.upper[i]!);
  return { objective, variance, short, long, cost, tax, weights, violations, worst };
}

/** Returns the objective of trades, plus a penalty on their largest violation unless it is a rounding error. */
export const computeMerit = ({ objective, worst }: TradeFigures): number =>
  objective + (worst > VIOLATION_MAX ? HARD_PENALTY * worst + 1 : 0);

/**
 * Returns the purchases and sales by lot for net trades, with lots sold in their order at the given prices of gains.
 */
export function createTrades(program: AccountProgram, net: Float64Array, prices: GainPrices): AccountTrades {
  const { n, lotSize } = program;
  const purchases = new Float64Array(n);
  const sales = new Float64Array(lotSize.length);
  for (let i = 0; i < n; i++) {
    if (net[i]! >= 0) purchases[i] = net[i]!;
    else {
      let unsoldWeight = -net[i]!;
      for (const l of sortSales(program, i, prices)) {
        sales[l] = Math.min(unsoldWeight, lotSize[l]!);
        unsoldWeight -= sales[l]!;
        if (!(unsoldWeight > 0)) break;
      }
    }
  }
  return { bought: purchases, sold: sales };
}

export interface TradeCandidate {
  readonly trades: AccountTrades;
  readonly figures: TradeFigures;
  readonly merit: number;
}

export function createCandidate(program: AccountProgram, trades: AccountTrades): TradeCandidate {
  const figures = computeTradeFigures(program, trades);
  return { trades, figures, merit: computeMerit(figures) };
}

export function findTopPrices({ pieces }: TaxSide, weight: number): GainPrices {
  return {
    short: weight * Math.max(...pieces.map(({ short }) => short)),
    long: weight * Math.max(...pieces.map(({ long }) => long)),
  };
}

/**
 * Returns the prices of gains implied by multipliers.
 * @cost one pass over the rows
 * @source Nocedal & Wright (2006), Numerical Optimization, 2nd ed., section 12.8
 */
export function computePricesAt(program: AccountProgram, side: TaxSide, { rows }: Multipliers): GainPrices {
  const sums = { short: 0, long: 0 };
  listRelaxedRows(program, side).forEach((row, j) => {
    sums.short += rows[j]! * row.short;
    sums.long += rows[j]! * row.long;
  });
  return sums;
}

/**
 * Relative weight of the highest prices in the prices that order sales. Among lots of equal price, the lot with the
 * lowest gain is therefore sold first.
 */
const TIE_WEIGHT = 1e-6;

export const interpolateTowards = (top: GainPrices, { short, long }: GainPrices): GainPrices => ({
  short: short + TIE_WEIGHT * top.short,
  long: long + TIE_WEIGHT * top.long,
});

/** Maximum number of combinations of lots that are tried for given net trades. */
const COMBINATIONS_MAX = 20_000;

/** One way to sell an amount of a security: lots in whole shares or in full. */
interface LotChoice {
  readonly lots: readonly (readonly [number, number])[];
  readonly short: number;
  readonly long: number;
}

/**
 * Finds the lots with the lowest tax for net trades in whole shares by trying all combinations.
 * @returns undefined if there are more than `COMBINATIONS_MAX` combinations
 */
export function chooseLots(program: AccountProgram, net: Float64Array): AccountTrades | undefined {
  const choices: LotChoice[][] = [];
  let combinations = 1;
  for (let i = 0; i < program.n; i++) {
    if (!(net[i]! < -1e-12)) continue;
    const lotChoices = listChoices(program, i, -net[i]!);
    combinations *= lotChoices.length;
    if (combinations > COMBINATIONS_MAX) return undefined;
    choices.push(lotChoices);
  }
  let bestChoice: { merit: number; trades: AccountTrades } | undefined;
  const purchases = net.map((trade) => Math.max(0, trade));
  const isUntaxed =
    program.rows.every(({ short, long }) => short === 0 && long === 0) &&
    program.sides.every(({ limits = [] }) => limits.length === 0);
  let leastTax = Infinity;
  const takenChoices: LotChoice[] = [];
  const visit = (depth: number, short: number, long: number): void => {
    if (depth < choices.length) {
      for (const choice of choices[depth]!) {
        takenChoices[depth] = choice;
        visit(depth + 1, short + choice.short, long + choice.long);
      }
      return;
    }
    const tax = computeTax(program.sides, short, long);
    if (isUntaxed && tax >= leastTax) return;
    leastTax = tax;
    const sales = new Float64Array(program.lotSize.length);
    for (const { lots } of takenChoices) for (const [l, amount] of lots) sales[l] = amount;
    const trades = { bought: purchases, sold: sales };
    const merit = computeMerit(computeTradeFigures(program, trades));
    if (bestChoice === undefined || merit < bestChoice.merit) bestChoice = { merit, trades };
  };
  visit(0, program.fixedShort, program.fixedLong);
  return bestChoice?.trades;
}

function listChoices(program: AccountProgram, i: number, amount: number): LotChoice[] {
  const { lotStart, lotSize, lotShort, lotLong, unit, isOrdered } = program;
  const step = unit[i]!;
  const lotChoices: LotChoice[] = [];
  const addChoices = (l: number, left: number, lots: readonly (readonly [number, number])[]): void => {
    if (lotChoices.length > COMBINATIONS_MAX) return;
    if (!(left > 1e-12)) {
      let [short, long] = [0, 0];
      for (const [at, sold] of lots) {
        short += sold * lotShort[at]!;
        long += sold * lotLong[at]!;
      }
      lotChoices.push({ lots, short, long });
      return;
    }
    if (l === lotStart[i + 1]) return;
    const saleMax = Math.min(left, lotSize[l]!);
    if (isOrdered[i] === 1 || !(step > 0)) return addChoices(l + 1, left - saleMax, [...lots, [l, saleMax]]);
    for (let count = 0; count * step < saleMax - 1e-12; count++)
      addChoices(l + 1, left - count * step, count === 0 ? lots : [...lots, [l, count * step]]);
    addChoices(l + 1, left - saleMax, [...lots, [l, saleMax]]);
  };
  addChoices(lotStart[i]!, amount, []);
  return lotChoices;
}
