import type { AccountProgram } from '#kernels/lots/account-program.js';

/** A possible net trade in a security, and the gains that it realises in its lots. */
interface Choice {
  readonly trade: number;
  readonly short: number;
  readonly long: number;
}

/**
 * Returns the lowest objective of all trades in whole shares. It evaluates each trade from the definition, without code
 * of the solver.
 */
export function solveByBruteForce(program: AccountProgram): number {
  const choices = Array.from({ length: program.n }, (_, i) => listChoices(program, i));
  let best = Infinity;
  const takenChoices: Choice[] = [];
  const visit = (i: number): void => {
    if (i === program.n) {
      best = Math.min(best, computeObjective(program, takenChoices));
      return;
    }
    for (const choice of choices[i]!) {
      takenChoices[i] = choice;
      visit(i + 1);
    }
  };
  visit(0);
  return best;
}

function listChoices(program: AccountProgram, i: number): Choice[] {
  const { unit, buyLimit, minimumTrade, lotStart, lotSize, lotShort, lotLong, isOrdered } = program;
  const step = unit[i]!;
  const choices: Choice[] = [];
  for (let count = 0; count * step <= buyLimit[i]! + 1e-9; count++)
    if (count === 0 || count * step >= minimumTrade[i]! - 1e-12)
      choices.push({ trade: count * step, short: 0, long: 0 });
  const lots = Array.from({ length: lotStart[i + 1]! - lotStart[i]! }, (_, k) => lotStart[i]! + k);
  const position = lots.reduce((sum, l) => sum + lotSize[l]!, 0);
  const sell = (k: number, sold: number, short: number, long: number, mayGoOn: boolean): void => {
    if (k === lots.length || !mayGoOn) {
      const isLarge = sold >= minimumTrade[i]! - 1e-12 || Math.abs(sold - position) < 1e-12;
      if (sold > 1e-12 && isLarge) choices.push({ trade: -sold, short, long });
      return;
    }
    const l = lots[k]!;
    const stepCount = Math.round(lotSize[l]! / step);
    for (let count = 0; count <= stepCount; count++)
      sell(
        k + 1,
        sold + count * step,
        short + count * step * lotShort[l]!,
        long + count * step * lotLong[l]!,
        isOrdered[i] === 0 || count === stepCount,
      );
  };
  sell(0, 0, 0, 0, true);
  return choices;
}

function computeObjective(program: AccountProgram, takenChoices: readonly Choice[]): number {
  const { n, k, loadings, specific, target, heldWeights, rows, costRate } = program;
  let [short, long, cost, variance] = [program.fixedShort, program.fixedLong, 0, 0];
  const weights = takenChoices.map(({ trade }, i) => heldWeights[i]! + trade);
  takenChoices.forEach((choice, i) => {
    short += choice.short;
    long += choice.long;
    cost += Math.abs(choice.trade) * costRate[i]!;
    variance += specific[i]! * (weights[i]! - target[i]!) ** 2;
  });
  for (let f = 0; f < k; f++) {
    let exposure = 0;
    for (let i = 0; i < n; i++) exposure += loadings[i * k + f]! * (weights[i]! - target[i]!);
    variance += exposure ** 2;
  }
  for (const row of rows) {
    const value = row.constant + row.cost * cost + row.short * short + row.long * long;
    if (value + weights.reduce((sum, weight, i) => sum + row.weights![i]! * weight, 0) > 1e-9) return Infinity;
  }
  if (variance > program.varianceLimit) return Infinity;
  return program.aversion * variance + cost + program.taxWeight * computeUsTax(short, long);
}

/**
 * Computes the tax with US netting at 37 % and 20 %. Gains and losses are netted within each holding period, and then
 * across both.
 */
export function computeUsTax(short: number, long: number): number {
  if (short >= 0 && long >= 0) return 0.37 * short + 0.2 * long;
  const net = short + long;
  if (net <= 0) return 0;
  return net * (short > 0 ? 0.37 : 0.2);
}
