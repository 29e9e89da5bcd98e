import { dayText, type NameHistory } from './name-history.js';
import type { Doubt } from './doubt.js';

/** Moves smaller than this are left to the market. */
const MOVE_MIN = 0.25;
/** Moves smaller than so many usual ones, too. */
const SIGMAS_MIN = 8;
/** A move with no action and no other explanation is told from this size on. */
const JUMP_MIN = 0.5;
/** Bars after which a price that comes back has come back. */
const RETURN_BARS = 5;
/** Ratios of splits as companies make them, and of consolidations. */
const SPLITS = [1.5, 2, 3, 4, 5, 6, 7, 8, 10, 15, 20, 25, 50, 1 / 2, 1 / 3, 1 / 4, 1 / 5, 1 / 6, 1 / 7, 1 / 8, 1 / 10, 1 / 12, 1 / 15, 1 / 20, 1 / 25, 1 / 30, 1 / 40, 1 / 50];
/** Factors between units: pence and pounds, a decimal point that slipped. */
const UNITS = [100, 10, 1000, 1 / 100, 1 / 10, 1 / 1000];
/** How far a jump may be from its factor besides the day's own move. */
const FACTOR_TOLERANCE = 0.06;

const PRICES = ['OPEN', 'HIGH', 'LOW', 'CLOSE'];

/** Jumps of a price that no action explains: prints that come back, wrong units, splits that are missing. */
export function* doubtfulPrices(history: NameHistory, held: readonly string[]): Generator<Doubt> {
  const { identifier, close, returns, sigma, actions } = history;
  const columns = PRICES.filter((name) => held.includes(name));
  const acted = new Set(actions.map(({ bar }) => bar));
  for (let b = 1; b < close.length; b++) {
    const move = returns[b]!;
    const limit = Math.max(MOVE_MIN, SIGMAS_MIN * sigma[b]!);
    if (Math.abs(move) < limit || acted.has(b)) continue;
    const back = barItComesBack(history, b, acted);
    const about = { identifier, date: dayText(history, b) };
    const evidence = { before: close[b - 1]!, close: close[b]!, move, usual_move: sigma[b]! };
    if (back !== undefined) {
      const to = dayText(history, back - 1);
      const factor = nearest(UNITS, close[b - 1]! / close[b]!, FACTOR_TOLERANCE + 3 * sigma[b]!);
      const isUnit = factor !== undefined && (factor === 100 || factor === 1 / 100);
      yield {
        ...about,
        id: `${isUnit ? 'currency_flip' : 'unexplained_jump'} ${identifier} ${about.date}`,
        kind: isUnit ? 'currency_flip' : 'unexplained_jump',
        confidence: 0.95,
        message: `CLOSE goes from ${close[b - 1]} to ${close[b]} and is back at ${close[back]} on ${dayText(history, back)}.`,
        evidence: { ...evidence, back_at: close[back]!, back_on: dayText(history, back) },
        repair:
          factor === undefined
            ? { kind: 'remove_values', identifier, from: about.date, to, columns }
            : { kind: 'scale', identifier, from: about.date, to, columns, factor },
      };
      b = back;
      continue;
    }
    const unit = nearest([100, 1 / 100], close[b]! / close[b - 1]!, FACTOR_TOLERANCE + 3 * sigma[b]!);
    if (unit !== undefined) {
      yield flip(history, b, unit, columns);
      continue;
    }
    const ratio = nearest(SPLITS, close[b - 1]! / close[b]!, Math.max(0.04, Math.min(4 * sigma[b]!, 0.08)));
    if (ratio !== undefined && staysThere(history, b)) {
      yield {
        ...about,
        id: `missed_split ${identifier} ${about.date}`,
        kind: 'missed_split',
        confidence: Math.abs(move) > 0.6 ? 0.95 : 0.8,
        message: `CLOSE goes from ${close[b - 1]} to ${close[b]}, which is a split of ${Math.round(ratio * 1e4) / 1e4} and the move of a day, and no action says so.`,
        evidence: { ...evidence, ratio },
        repair: { kind: 'insert_action', action: { identifier, type: 'SPLIT', value: ratio, ex_date: about.date } },
      };
    } else if (Math.abs(move) > JUMP_MIN) {
      yield {
        ...about,
        id: `unexplained_jump ${identifier} ${about.date}`,
        kind: 'unexplained_jump',
        confidence: 0.4,
        message: `CLOSE goes from ${close[b - 1]} to ${close[b]} with no action, and stays there.`,
        evidence,
        repair: null,
      };
    }
  }
}

/** First bar at which the price is where it was before bar `b`, as far as days of its kind let it be; undefined when it stays away. */
function barItComesBack({ close, sigma, days }: NameHistory, b: number, acted: ReadonlySet<number>): number | undefined {
  const before = close[b - 1]!;
  const away = Math.abs(close[b]! / before - 1);
  for (let back = b + 1; back < close.length && back <= b + RETURN_BARS; back++) {
    if (acted.has(back) || days[back]! - days[b]! > 30) return undefined;
    const distance = Math.abs(close[back]! / before - 1);
    if (distance < Math.min(0.05 + 3 * sigma[b]! * Math.sqrt(back - b + 1), away / 3)) return back;
  }
  return undefined;
}

/** Whether the prices of the next days are around that of bar `b`, as those of the days before are around the one before it. */
function staysThere({ close }: NameHistory, b: number): boolean {
  const after = middle(close.subarray(b, b + 6));
  const before = middle(close.subarray(Math.max(0, b - 6), b));
  return Math.abs((after / before) * (close[b - 1]! / close[b]!) - 1) < 0.15;
}

function middle(values: Float64Array): number {
  const ordered = [...values].sort((x, y) => x - y);
  return ordered[ordered.length >> 1]!;
}

/** The factor nearest to a ratio, when it is near enough. */
function nearest(factors: readonly number[], ratio: number, tolerance: number): number | undefined {
  let best: number | undefined;
  for (const factor of factors) if (best === undefined || Math.abs(ratio / factor - 1) < Math.abs(ratio / best - 1)) best = factor;
  return best !== undefined && Math.abs(ratio / best - 1) < tolerance ? best : undefined;
}

/** A price that changes its unit for good: the shorter side is taken to be the wrong one. */
function flip(history: NameHistory, b: number, unit: number, columns: readonly string[]): Doubt {
  const { identifier, close, returns, sigma } = history;
  let end = close.length;
  for (let c = b + 1; c < close.length; c++) {
    if (nearest([unit], close[c - 1]! / close[c]!, FACTOR_TOLERANCE + 3 * sigma[c]!) !== undefined) {
      end = c;
      break;
    }
  }
  const isLaterWrong = end < close.length || close.length - b <= b;
  const [from, to] = isLaterWrong ? [b, end - 1] : [0, b - 1];
  return {
    id: `currency_flip ${identifier} ${dayText(history, b)}`,
    kind: 'currency_flip',
    identifier,
    date: dayText(history, b),
    confidence: 0.9,
    message: `CLOSE goes from ${close[b - 1]} to ${close[b]}: another unit of currency from here on.`,
    evidence: { before: close[b - 1]!, close: close[b]!, move: returns[b]!, unit },
    repair: { kind: 'scale', identifier, from: dayText(history, from), to: dayText(history, to), columns, factor: isLaterWrong ? 1 / unit : unit },
  };
}
