import { computeTax, type AccountProgram } from './account-program.js';
import { computeFigures, computeMerit, type AccountTrades } from './trade-figures.js';

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
    const merit = computeMerit(computeFigures(program, trades));
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
