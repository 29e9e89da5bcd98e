import { formatDay } from '#domain/time/days.js';
import { describeJump } from '#domain/index-mathematics/jump-text.js';
import { isOrdinaryMove, JUMP_MAX } from '#domain/index-mathematics/unexplained-growth.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { listActionSteps, listRenamedSteps, type ActionStep } from './action-steps.js';
import type { MarketContent } from './market-content.js';
import { formatPrices } from '#domain/numbers/price-text.js';
import type { Problem, Problems } from '../tables/problems.js';

/**
 * Maximum number of sessions without a bar that gives no warning. The sessions may be inside a history or at its end.
 */
export const GAP_SESSIONS_MAX = 10;

/** Maximum free float, with a tolerance for the rounding of quotients. */
const FLOAT_MAX = 1 + 1e-9;

export const ENDING_ACTIONS: ReadonlySet<string> = new Set(['DELISTING', 'ACQUISITION', 'MERGER', 'TICKER_CHANGE']);

/**
 * Reports suspect data in a market without rejecting it. Sessions are the dates of the store, and a bar is a CLOSE.
 * PRICE_JUMP: the growth from bar to bar differs from 1 by more than a half, in addition to the effect of the actions in between,
 * also from an old code to the new code of a change of ticker. GAP_LONG: more than ten sessions inside a history have no bar. STALE_TAIL: more than ten sessions at the end of a
 * history have no bar, and no action ends the security. ACTION_WITHOUT_PRICE: the security has no bar on the session on
 * which an action takes effect; for an ending, any bar is enough. OUT_OF_RANGE: a free float is above 1.
 * @cost one pass over CLOSE, and one over FREE_FLOAT.
 */
export function warnOfMarket(content: MarketContent, adjustment: Adjustment, problems: Problems): void {
  const { dates } = content;
  const close = content.fields.get('CLOSE')!;
  const assets = content.identifiers.length;
  const lastBar = new Int32Array(assets).fill(-1);
  const lastClose = new Float64Array(assets);
  const steps = listActionSteps(content, adjustment);
  const checkBar = createBarCheck(content, steps, problems);
  /**
   * `isWhole` is true if every security has a bar on the previous day. `isBehind` is true if the recorded last bars are
   * older than the previous day.
   */
  let [isWhole, isBehind] = [false, false];
  const restorePreviousBars = (t: number): void => {
    if (!isBehind) return;
    lastBar.fill(t - 1);
    lastClose.set(close.subarray((t - 1) * assets, t * assets));
    isBehind = false;
  };
  for (let t = 0; t < dates.length; t++) {
    const row = t * assets;
    if (isWhole && areOrdinary(close, row, assets)) {
      isBehind = true;
      continue;
    }
    restorePreviousBars(t);
    isWhole = true;
    for (let n = 0; n < assets; n++) {
      const price = close[row + n]!;
      if (price !== price) {
        isWhole = false;
        continue;
      }
      const previousRow = lastBar[n]!;
      const last = lastClose[n]!;
      lastBar[n] = t;
      lastClose[n] = price;
      if (previousRow === t - 1 && isOrdinaryMove(last, price)) continue;
      if (previousRow >= 0) checkBar({ n, t, price }, previousRow, last);
    }
  }
  restorePreviousBars(dates.length);
  for (const step of [...steps, ...listRenamedSteps(content, adjustment)])
    if (step.isJump && step.isMoved) problems.warning(createUnexplainedJump(content, step));
  warnOfTails(content, lastBar, problems);
  warnOfActions(content, lastBar, problems);
  warnOfFloats(content, problems);
}

/** Returns true if all closes of a row and of the row before exist, and all growths are ordinary. */
function areOrdinary(close: Float64Array, row: number, assets: number): boolean {
  for (let cell = row; cell < row + assets; cell++) {
    const price = close[cell]!;
    const last = close[cell - assets]!;
    if (!isOrdinaryMove(last, price)) return false;
  }
  return true;
}

interface Bar {
  readonly n: number;
  readonly t: number;
  readonly price: number;
}

/** Returns a function that compares a bar with the previous bar and reports unusual bars. */
function createBarCheck(
  content: MarketContent,
  steps: readonly ActionStep[],
  problems: Problems,
): (bar: Bar, before: number, last: number) => void {
  const { identifiers, dates } = content;
  const withActions = new Set(steps.map(({ n, to }) => to * identifiers.length + n));
  return ({ n, t, price }, before, last) => {
    const growth = price / last;
    const isLarge = growth - 1 > JUMP_MAX || 1 - growth > JUMP_MAX;
    if (isLarge && !withActions.has(t * identifiers.length + n)) {
      const [lastText, priceText] = formatPrices([last, price]);
      problems.warning({
        code: 'PRICE_JUMP',
        path: formatBarPath(content, n, t),
        message: `CLOSE went from ${lastText} on ${formatDay(dates[before]!)} to ${priceText} on ${formatDay(dates[t]!)} without a corporate action in between.`,
        value: price,
      });
    }
    if (t - before - 1 > GAP_SESSIONS_MAX) {
      problems.warning({
        code: 'GAP_LONG',
        path: formatBarPath(content, n, t),
        message: `${identifiers[n]} has no bar on ${t - before - 1} sessions before ${formatDay(dates[t]!)}; gaps of more than ${GAP_SESSIONS_MAX} are unusual.`,
      });
    }
  };
}

function warnOfTails(content: MarketContent, lastBar: Int32Array, problems: Problems): void {
  const { identifiers, dates, actions } = content;
  const endDayByIdentifier = new Map<string, number>();
  for (const { identifier, type, exDay, status } of actions)
    if (ENDING_ACTIONS.has(type) && status !== 'cancelled') endDayByIdentifier.set(identifier, exDay);
  identifiers.forEach((identifier, n) => {
    const last = lastBar[n]!;
    const missingDays = dates.length - 1 - last;
    if (last < 0 || missingDays <= GAP_SESSIONS_MAX) return;
    const end = endDayByIdentifier.get(identifier);
    if (end !== undefined && end >= dates[Math.max(0, last - GAP_SESSIONS_MAX)]!) return;
    problems.warning({
      code: 'STALE_TAIL',
      path: formatBarPath(content, n, last),
      message: `The last bar of ${identifier} is on ${formatDay(dates[last]!)}, ${missingDays} sessions before the last date of the store, without a corporate action that ends the security.`,
    });
  });
}

/** Reports all free floats above 1 in a single finding. They are probably percentages or numbers of shares. */
function warnOfFloats({ fields, identifiers, dates }: MarketContent, problems: Problems): void {
  const floats = fields.get('FREE_FLOAT');
  if (floats === undefined) return;
  let [count, first] = [0, -1];
  for (let cell = 0; cell < floats.length; cell++) {
    if (!(floats[cell]! > FLOAT_MAX)) continue;
    if (first < 0) first = cell;
    count++;
  }
  if (count === 0) return;
  const value = floats[first]!;
  const [day, name] = [dates[Math.floor(first / identifiers.length)]!, identifiers[first % identifiers.length]!];
  const excessText = count === 1 ? '1 value is' : `${count} values are`;
  const message = `FREE_FLOAT of ${name} is ${value} on ${formatDay(day)}; it must be a fraction of at most 1. ${excessText} above 1.`;
  problems.warning({ code: 'OUT_OF_RANGE', path: `market[${name} ${formatDay(day)}].FREE_FLOAT`, message, value });
}

function warnOfActions(content: MarketContent, lastBar: Int32Array, problems: Problems): void {
  const { identifiers, dates, actions } = content;
  const close = content.fields.get('CLOSE')!;
  const position = new Map(identifiers.map((identifier, n) => [identifier, n]));
  for (const { identifier, type, exDay } of actions) {
    const n = position.get(identifier);
    const session = findFirstAtLeast(dates, exDay);
    const hasPrice =
      n !== undefined &&
      lastBar[n]! >= 0 &&
      (ENDING_ACTIONS.has(type) || (session < dates.length && !Number.isNaN(close[session * identifiers.length + n])));
    // An action after the last date of the store is announced and has no wrong date.
    if (hasPrice || (n !== undefined && session === dates.length)) continue;
    problems.warning({
      code: 'ACTION_WITHOUT_PRICE',
      path: `corporate_actions[${identifier} ${formatDay(exDay)}]`,
      message:
        n === undefined
          ? `The market has no bar of ${identifier}, which has a ${type} on ${formatDay(exDay)}.`
          : `${identifier} has no bar on the session of its ${type} on ${formatDay(exDay)}.`,
    });
  }
}

/** Describes a move of a close that its actions do not explain. */
function createUnexplainedJump(content: MarketContent, step: ActionStep): Problem {
  const { n, from, to, close } = step;
  const [fromDay, toDay] = [content.dates[from]!, content.dates[to]!];
  const message = describeJump({ ...step, fromDay, toDay }, step.growth);
  return { code: 'PRICE_JUMP', path: formatBarPath(content, n, to), message, value: close };
}

function formatBarPath({ identifiers, dates }: MarketContent, n: number, t: number): string {
  return `market[${identifiers[n]} ${formatDay(dates[t]!)}].CLOSE`;
}
