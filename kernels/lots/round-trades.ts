import { factorExposures, taxAt, type AccountProgram } from './account-program.js';
import { saleOrder, type GainPrices } from './relaxed-trades.js';
import { HARD_PENALTY } from './interior-point.js';

/** Passes over all securities; five are usual. */
const PASSES_MAX = 40;
/** Maximum number of securities for which pairs of moves are tried as well. */
const PAIRS_MAX = 24;
/** Minimum improvement of a move. */
const LEAST_GAIN = 1e-13;

/**
 * Rounds net trades to permitted ones (whole shares, minimum trades). Improves them by moves of one security, in small
 * accounts also of two, until no move helps.
 *
 * @param net  signed trades by security, replaced by the rounded ones
 * @param suggested  trades to try, by security
 */
export function roundTrades(
  program: AccountProgram,
  net: Float64Array,
  prices: GainPrices,
  suggested: Float64Array,
): void {
  const { n } = program;
  for (let i = 0; i < n; i++) net[i] = permit(program, i, net[i]!);
  const state = createMerit(program, net, prices);
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    let isBetter = false;
    for (let i = 0; i < n; i++) {
      let [best, gain] = [net[i]!, LEAST_GAIN];
      for (const trade of movesOf(program, i, net[i]!, suggested[i]!)) {
        const own = state.gain(i, trade);
        if (own > gain) [best, gain] = [trade, own];
      }
      if (best === net[i]) continue;
      state.move(i, best);
      isBetter = true;
    }
    if (!isBetter && n <= PAIRS_MAX) isBetter = movePair(program, state, net, suggested);
    if (!isBetter) return;
  }
}

function movePair(
  program: AccountProgram,
  state: ReturnType<typeof createMerit>,
  net: Float64Array,
  suggested: Float64Array,
): boolean {
  for (let i = 0; i < program.n; i++)
    for (const trade of movesOf(program, i, net[i]!, suggested[i]!)) {
      const before = net[i]!;
      const own = state.gain(i, trade);
      state.move(i, trade);
      for (let j = i + 1; j < program.n; j++)
        for (const other of movesOf(program, j, net[j]!, suggested[j]!))
          if (own + state.gain(j, other) > LEAST_GAIN) {
            state.move(j, other);
            return true;
          }
      state.move(i, before);
    }
  return false;
}

/** Returns the nearest permitted trade. */
function permit(program: AccountProgram, i: number, trade: number): number {
  const { unit, minimumTrade, buyLimit, held } = program;
  const [step, least] = [unit[i]!, minimumTrade[i]!];
  const position = sizeOf(program, i);
  if (trade === 0) return 0;
  const most = trade > 0 ? buyLimit[i]! : position;
  let amount = Math.min(Math.abs(trade), most);
  if (trade < 0 && position - amount < Math.max(step * 1e-6, held[i]! * 1e-9)) return -position;
  if (step > 0) amount = Math.min(Math.round(amount / step), Math.floor(most / step + 1e-9)) * step;
  if (amount < least) {
    const enough = step > 0 ? Math.ceil(least / step - 1e-9) * step : least;
    amount = amount * 2 < least || enough > most ? 0 : enough;
  }
  return trade > 0 ? amount : -amount;
}

export function sizeOf({ lotStart, lotSize }: AccountProgram, i: number): number {
  let total = 0;
  for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) total += lotSize[l]!;
  return total;
}

/** Returns other permitted trades of a security: a share more or less, none, the least, all, and the suggested one. */
function movesOf(program: AccountProgram, i: number, trade: number, suggested: number): number[] {
  const step = program.unit[i]!;
  const least = program.minimumTrade[i]!;
  const near = step > 0 ? [trade - step, trade + step] : [];
  const enough = step > 0 ? Math.ceil(least / step - 1e-9) * step : least;
  const other = enough > 0 ? [enough, -enough] : [];
  const found = [...near, 0, ...other, suggested, -sizeOf(program, i)].map((move) => permit(program, i, move));
  return found.filter((move, at) => Math.abs(move - trade) > 1e-14 && found.indexOf(move) === at);
}

/** Tracks the objective of trades under moves of single securities. @cost lots and rows for a gain, k for a security */
function createMerit(program: AccountProgram, net: Float64Array, prices: GainPrices) {
  const { n, k, loadings, specific, target, held, rows, sides, lower, upper, costRate } = program;
  const active = Float64Array.from(net, (trade, i) => held[i]! + trade - target[i]!);
  const exposures = factorExposures(program, active, new Float64Array(k));
  const orders = Array.from({ length: n }, (_, i) => saleOrder(program, i, prices));
  const gains = { short: program.fixedShort, long: program.fixedLong };
  const limit = Math.sqrt(program.varianceLimit);
  let specificPart = 0;
  let cost = 0;
  const norms = Float64Array.from({ length: n }, (_, i) => squaresOf(loadings.subarray(i * k, (i + 1) * k)));
  const values = rows.map(({ weights, constant }) => {
    let value = constant;
    if (weights !== null) for (let i = 0; i < n; i++) value += weights[i]! * (held[i]! + net[i]!);
    return value;
  });
  for (let i = 0; i < n; i++) {
    specificPart += specific[i]! * active[i]! * active[i]!;
    cost += Math.abs(net[i]!) * costRate[i]!;
    const own = gainsOf(i, net[i]!);
    gains.short += own.short;
    gains.long += own.long;
  }

  function gainsOf(i: number, trade: number): { short: number; long: number } {
    let left = -trade;
    let short = 0;
    let long = 0;
    for (const l of orders[i]!) {
      if (!(left > 0)) break;
      const sold = Math.min(left, program.lotSize[l]!);
      short += sold * program.lotShort[l]!;
      long += sold * program.lotLong[l]!;
      left -= sold;
    }
    return { short, long };
  }

  /** Values shared by the moves of one security: its exposure, its gains, and the objective without a move. */
  const common = { security: -1, slope: 0, squares: 0, before: { short: 0, long: 0 }, merit: 0 };

  function look(i: number): void {
    let slope = 0;
    let squares = 0;
    for (let f = 0; f < k; f++) {
      slope += loadings[i * k + f]! * exposures[f]!;
      squares += exposures[f]! * exposures[f]!;
    }
    Object.assign(common, { security: i, slope, squares, before: gainsOf(i, net[i]!) });
    common.merit = merit(i, net[i]!);
  }

  function merit(i: number, trade: number): number {
    const change = trade - net[i]!;
    const { slope, squares, before } = common;
    const variance =
      specificPart +
      specific[i]! * ((active[i]! + change) ** 2 - active[i]! ** 2) +
      (squares + change * (2 * slope + change * norms[i]!));
    const after = gainsOf(i, trade);
    const [short, long] = [gains.short + after.short - before.short, gains.long + after.long - before.long];
    const spent = cost + (Math.abs(trade) - Math.abs(net[i]!)) * costRate[i]!;
    let total = program.aversion * variance + spent + program.taxWeight * taxAt(sides, short, long);
    let violated = variance > program.varianceLimit ? Math.sqrt(variance) - limit : 0;
    for (let j = 0; j < rows.length; j++) {
      const row = rows[j]!;
      let value = values[j]! + row.short * short + row.long * long + row.cost * spent;
      if (row.weights !== null) value += row.weights[i]! * change;
      if (!(value > 0)) continue;
      if (row.penalty < Infinity) total += row.penalty * value;
      else violated += value;
    }
    const weight = held[i]! + trade;
    violated += Math.max(0, lower[i]! - weight, weight - upper[i]!);
    // Permitted trades are always better than others.
    return total + (violated > 1e-9 ? HARD_PENALTY * violated + 1 : 0);
  }

  return {
    gain(i: number, trade: number): number {
      if (common.security !== i) look(i);
      return common.merit - merit(i, trade);
    },
    move(i: number, trade: number): void {
      common.security = -1;
      const change = trade - net[i]!;
      const [before, after] = [gainsOf(i, net[i]!), gainsOf(i, trade)];
      gains.short += after.short - before.short;
      gains.long += after.long - before.long;
      cost += (Math.abs(trade) - Math.abs(net[i]!)) * costRate[i]!;
      specificPart += specific[i]! * ((active[i]! + change) ** 2 - active[i]! ** 2);
      active[i]! += change;
      for (let f = 0; f < k; f++) exposures[f]! += loadings[i * k + f]! * change;
      rows.forEach(({ weights }, j) => void (weights !== null && (values[j]! += weights[i]! * change)));
      net[i] = trade;
    },
  };
}

function squaresOf(values: Float64Array): number {
  let sum = 0;
  for (const value of values) sum += value * value;
  return sum;
}
