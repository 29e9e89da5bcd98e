import { powerOf } from '#kernels/power.js';
import { formatDay, type Day } from '#domain/time/days.js';
import type { DerivedActions } from '#domain/documents/mapping.js';
import type { CorporateAction, MarketData } from '#domain/market/market-data.js';
import type { Problem, Problems } from '../tables/problems.js';
import { withoutEmptyLines, type Panels } from '../panels/panels.js';
import { ADJUSTED_CLOSE } from './mapped-columns.js';

/** Rounding of single precision, of the close and of the adjusted close, relative. */
const SINGLE_PRECISION = 1.3e-7;

/**
 * What is tried as a vendor's rounding: once, again with every dividend, and of closes that the adjusted ones were not
 * made of.
 */
const ROUNDINGS = [
  ...[1, 2, 4, 8].map((times) => ({ relative: times * SINGLE_PRECISION, units: 0 })),
  { relative: SINGLE_PRECISION, units: 1 },
] as const;

/** Decimals of a vendor's prices that are looked for; beyond them a price is as exact as a double. */
const DECIMALS_MAX = 9;

/** Terms of the ratio of a split, and the cash that may come with it on its day, as a fraction of the price. */
const SPLIT_TERM_MAX = 10;
const SPLIT_INTEGER_MAX = 100;
const SPLIT_CASH_MAX = 0.05;
/** Smallest ratio of a split: below it cash is likelier. */
const SPLIT_RATIO_MIN = 1.2;

/** Share of the price before from which a dividend is a doubt: as the move of a price without an action. */
const LARGE_DIVIDEND = 0.5;

/** Ratios of splits, those of the smallest terms first, and of large terms the round ones: 20 before 19. */
const SPLIT_RATIOS = [
  ...Array.from({ length: SPLIT_TERM_MAX ** 2 }, (_, i) => [
    1 + Math.floor(i / SPLIT_TERM_MAX),
    1 + (i % SPLIT_TERM_MAX),
  ]),
  ...Array.from({ length: SPLIT_INTEGER_MAX }, (_, i) => [i + 1, 1]),
  ...Array.from({ length: SPLIT_INTEGER_MAX }, (_, i) => [1, i + 1]),
]
  .filter(([a, b]) => a !== b)
  .toSorted((one, other) => oddity(one) - oddity(other))
  .map(([a, b]) => a! / b!);

/** Sum of the terms of a ratio, those of a large term that is not round behind all others. */
function oddity(terms: readonly number[]): number {
  const isOdd = terms.some((term) => term > SPLIT_TERM_MAX && term % 5 !== 0);
  return terms.reduce((sum, term) => sum + term, 0) + (isOdd ? 2 * SPLIT_INTEGER_MAX : 0);
}

/** Digits of a dividend that is tried for a shorter one. */
const CASH_DIGITS_MAX = 17;

/** A range of numbers that rounding leaves open. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/** Closes of one name on the days that have both. */
interface Closes {
  readonly days: readonly Day[];
  readonly close: readonly number[];
  readonly adjusted: readonly number[];
  /** Adjusted closes of 0 or less, with their days. */
  readonly refused: readonly (readonly [day: Day, adjusted: number])[];
}

/** A plateau: days on which the adjusted close is one multiple of the close. */
interface Plateau {
  /** Position of its first day. */
  readonly from: number;
  readonly factor: Range;
}

/** Panels without their adjusted closes, and what was derived from them. */
export interface DerivedMarket {
  readonly panels: Panels;
  readonly actions: readonly CorporateAction[];
  readonly derived: DerivedActions;
}

/**
 * Derives the cash dividends, and the splits where closes are as traded, that make total growth equal that of the
 * adjusted closes: the adjusted close is a constant multiple of the close between two ex-dates, up to the vendor's
 * rounding, and the multiple rises on an ex-date by 1 + dividend / close. A multiple that falls for no reason is a
 * warning.
 * @cost O(days x names)
 */
export function deriveActions(panels: Panels, adjustment: MarketData['adjustment'], problems: Problems): DerivedMarket {
  const adjusted = panels.fields.get(ADJUSTED_CLOSE);
  if (adjusted === undefined) return { panels, actions: [], derived: { dividends: 0, splits: 0 } };
  const rest = withoutEmptyLines({
    ...panels,
    fields: new Map([...panels.fields].filter(([name]) => name !== ADJUSTED_CLOSE)),
  });
  const actions = panels.identifiers.flatMap((identifier, n) =>
    actionsOf(identifier, closesOf(panels, adjusted, n), adjustment, problems),
  );
  const splits = actions.filter(({ type }) => type === 'SPLIT').length;
  return { panels: rest, actions, derived: { dividends: actions.length - splits, splits } };
}

function closesOf({ identifiers, dates, fields }: Panels, adjusted: Float64Array, n: number): Closes {
  const closes = fields.get('CLOSE')!; // every market has it
  const held = { days: [] as Day[], close: [] as number[], adjusted: [] as number[] };
  const refused: (readonly [Day, number])[] = [];
  for (let t = 0; t < dates.length; t++) {
    const cell = t * identifiers.length + n;
    if (adjusted[cell]! <= 0) refused.push([dates[t]!, adjusted[cell]!]);
    if (!(closes[cell]! > 0 && adjusted[cell]! > 0)) continue;
    held.days.push(dates[t]!);
    held.close.push(closes[cell]!);
    held.adjusted.push(adjusted[cell]!);
  }
  return { ...held, refused };
}

function actionsOf(
  identifier: string,
  closes: Closes,
  adjustment: MarketData['adjustment'],
  problems: Problems,
): CorporateAction[] {
  const actions: CorporateAction[] = [];
  const add = (type: 'DIVIDEND' | 'SPLIT', value: number, exDay: Day) =>
    actions.push({
      identifier,
      type,
      value,
      exDay,
      payDay: null,
      status: null,
      announcedDay: null,
      related: null,
      subscriptionPrice: null,
    });
  if (closes.refused.length > 0) problems.warning(refusedOf(identifier, closes.refused));
  const [first, ...steps] = stepsOf(plateausOf(closes, adjustment), adjustment);
  // What the multiple may be behind the actions so far: one multiple in it fits all days.
  let factor = first?.factor ?? { low: 1, high: 1 };
  for (const { from, factor: range, split } of steps) {
    const rise = quotient(range, factor);
    const day = closes.days[from]!;
    const close = closes.close[from]!;
    const cash = { low: (rise.low / split - 1) * close, high: (rise.high / split - 1) * close };
    if (cash.high < 0) {
      problems.warning(fallOf(identifier, day, middle(rise)));
      factor = range;
      continue;
    }
    if (split !== 1) add('SPLIT', split, day);
    const dividend = cash.low > 0 ? shortestIn(cash) : 0;
    if (dividend > 0) add('DIVIDEND', dividend, day);
    if (dividend > LARGE_DIVIDEND * (close + dividend))
      problems.warning(largeDividend(identifier, day, { dividend, close, isWhole: closes.refused.length === 0 }));
    const growth = split * (1 + dividend / close);
    factor = common(range, scaled(factor, growth));
  }
  return actions;
}

/** A plateau and the ratio of the split that it begins with; 1 where there is none. */
interface Step extends Plateau {
  readonly split: number;
}

/**
 * Plateaus with their splits. On both sides of a split without cash the multiple is one, but for the ratio: what either
 * side says of it counts for both.
 */
function stepsOf(plateaus: readonly Plateau[], adjustment: MarketData['adjustment']): Step[] {
  const steps = plateaus.map((plateau, i) => {
    const before = plateaus[i - 1];
    const split = before === undefined || adjustment !== 'none' ? 1 : splitIn(quotient(plateau.factor, before.factor));
    return { ...plateau, split };
  });
  const meet = (i: number, other: Range) => (steps[i] = { ...steps[i]!, factor: common(steps[i]!.factor, other) });
  const isAlone = ({ split, factor }: Step, before: Step) =>
    split !== 1 && split * before.factor.low <= factor.high && split * before.factor.high >= factor.low;
  const alone = steps.map((step, i) => i > 0 && isAlone(step, steps[i - 1]!));
  for (let i = 1; i < steps.length; i++) if (alone[i]) meet(i, scaled(steps[i - 1]!.factor, steps[i]!.split));
  for (let i = steps.length - 1; i > 0; i--) if (alone[i]) meet(i - 1, scaled(steps[i]!.factor, 1 / steps[i]!.split));
  return steps;
}

function fallOf(identifier: string, day: Day, rise: number): Problem {
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} falls by ${((1 - rise) * 100).toPrecision(3)} % against the close on ${formatDay(day)}; no dividend does that, and none is derived.`,
    value: formatDay(day),
  };
}

/** A vendor that takes a dividend above the price off makes adjusted closes of less than nothing before it. */
function refusedOf(identifier: string, refused: Closes['refused']): Problem {
  const [day, first] = refused[0]!; // there are some
  const last = refused.at(-1)!;
  const through = refused.length === 1 ? '' : ` through ${formatDay(last[0])}`;
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} is 0 or less on ${formatDay(day)}${through} (${refused.length} ${refused.length === 1 ? 'day' : 'days'}, the first ${first}): no dividends are derived of them, and total growth lacks what was paid then. Give them as the table corporate_actions, without adjusted_close.`,
    value: formatDay(day),
  };
}

function largeDividend(
  identifier: string,
  day: Day,
  { dividend, close, isWhole }: { readonly dividend: number; readonly close: number; readonly isWhole: boolean },
): Problem {
  const growth = isWhole ? ' Total growth is right, price returns may not be.' : '';
  return {
    code: 'ADJUSTMENT_UNEXPLAINED',
    path: `market.${identifier}`,
    message: `The adjusted close of ${identifier} tells a dividend of ${dividend} before a close of ${close} on ${formatDay(day)}: as large may be a split of no common ratio, or a spin-off.${growth}`,
    value: formatDay(day),
  };
}

/**
 * The plateaus of a name, at the smallest rounding that leaves the fewest multiples that fall for no reason: dividends
 * only raise them, rounding does both.
 */
function plateausOf(closes: Closes, adjustment: MarketData['adjustment']): Plateau[] {
  const unit = unitOf(closes.adjusted);
  let best: Plateau[] = [];
  let fewest = Number.POSITIVE_INFINITY;
  for (const { relative, units } of ROUNDINGS) {
    const plateaus = plateausWithin(closes, relative, { unit, closeUnit: units * unitOf(closes.close) });
    const falls = plateaus.filter((_, i) => isFall(plateaus, i, adjustment)).length;
    if (falls >= fewest) continue;
    best = plateaus;
    fewest = falls;
    if (falls === 0) break;
  }
  return best;
}

const isFall = (plateaus: readonly Plateau[], i: number, adjustment: MarketData['adjustment']) =>
  i > 0 && plateaus[i]!.factor.high < plateaus[i - 1]!.factor.low && !isSplit(plateaus, i, adjustment);

const isSplit = (plateaus: readonly Plateau[], i: number, adjustment: MarketData['adjustment']) =>
  adjustment === 'none' && splitIn(quotient(plateaus[i]!.factor, plateaus[i - 1]!.factor)) !== 1;

/** Days on which one multiple fits, each plateau as long as it can be. */
function plateausWithin(
  { close, adjusted }: Closes,
  relative: number,
  { unit, closeUnit }: { readonly unit: number; readonly closeUnit: number },
): Plateau[] {
  const plateaus: { from: number; factor: Range }[] = [];
  for (let t = 0; t < close.length; t++) {
    const slack = adjusted[t]! * (relative + closeUnit / 2 / close[t]!) + unit / 2;
    const own = { low: (adjusted[t]! - slack) / close[t]!, high: (adjusted[t]! + slack) / close[t]! };
    const last = plateaus.at(-1);
    const low = Math.max(own.low, last?.factor.low ?? 0);
    const high = Math.min(own.high, last?.factor.high ?? Number.POSITIVE_INFINITY);
    if (last === undefined || low > high) plateaus.push({ from: t, factor: own });
    else last.factor = { low, high };
  }
  return plateaus;
}

/** Unit of the last digit that prices are written with. */
function unitOf(prices: readonly number[]): number {
  let decimals = 0;
  for (const price of prices) {
    const text = String(price);
    const point = text.indexOf('.');
    if (point >= 0) decimals = Math.max(decimals, text.length - point - 1);
    if (decimals > DECIMALS_MAX) return 0;
  }
  return powerOf(10, -decimals);
}

/** The simplest ratio of a split that a rise holds, alone or else with little cash beside it; 1 where there is none. */
function splitIn({ low, high }: Range): number {
  if (high > 1 && low < SPLIT_RATIO_MIN) return 1;
  const alone = SPLIT_RATIOS.find((ratio) => ratio >= low && ratio <= high);
  return alone ?? SPLIT_RATIOS.find((ratio) => ratio <= high && ratio * (1 + SPLIT_CASH_MAX) >= low) ?? 1;
}

const middle = ({ low, high }: Range) => (low + high) / 2;

/** Quotients of positive numbers of two ranges. */
const quotient = (above: Range, below: Range): Range => ({ low: above.low / below.high, high: above.high / below.low });

const scaled = ({ low, high }: Range, by: number): Range => ({ low: low * by, high: high * by });

/** What two ranges that touch have in common, a single number where rounding parts them. */
function common(one: Range, other: Range): Range {
  const low = Math.max(one.low, other.low);
  return { low, high: Math.max(low, Math.min(one.high, other.high)) };
}

/** The number of the fewest digits in a range. */
function shortestIn(range: Range): number {
  for (let digits = 1; digits <= CASH_DIGITS_MAX; digits++) {
    const value = Number(middle(range).toPrecision(digits));
    if (value >= range.low && value <= range.high) return value;
  }
  return middle(range);
}
