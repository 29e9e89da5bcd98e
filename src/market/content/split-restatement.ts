import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { Day } from '#domain/time/days.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import { SPLIT_RATIO_MIN, SPLIT_RATIOS } from './split-ratios.js';
import { SINGLE_PRECISION, computeUnit } from './written-precision.js';

/** History that a vendor has divided by a split ratio. */
export interface SplitRestatement {
  /** Number of shares after the split per share before it. */
  readonly ratio: number;
  /** First day with prices that are not divided. It is null if neither the store nor the source has such a day yet. */
  readonly exDay: Day | null;
  /** Last day with divided prices. */
  readonly lastDivided: Day;
}

/** Two versions of the bars of one security on its stored days. */
export interface TwoHistories {
  readonly days: readonly Day[];
  /** Values of each field in both versions. A missing value is NaN. */
  readonly fields: ReadonlyMap<string, { readonly stored: readonly number[]; readonly fresh: readonly number[] }>;
  /** First close of the source after these days. */
  readonly next: { readonly day: Day; readonly close: number } | null;
  /** Actions of the source. */
  readonly actions: readonly CorporateAction[];
  readonly adjustment: Adjustment;
}

/** Fields that a split divides. */
const PRICE_FIELDS: ReadonlySet<string> = new Set(['OPEN', 'HIGH', 'LOW', 'CLOSE']);

/** Minimum number of divided bars that prove a ratio, if there is no later close. */
const BARS_MIN = 3;

/** Maximum relative rounding of volumes. */
const VOLUME_ROUNDING_MAX = 0.01;

/**
 * Finds the split that explains the difference between two versions of a history. Before a date, prices must be divided
 * by the ratio and volumes multiplied by it, within the rounding of the vendor. From that date on, nothing may differ.
 * Each other field must be divided, multiplied or unchanged throughout. The close must change less across the date than
 * in the stored version.
 * @returns undefined if no split explains the change
 * @cost a pass over the history for each ratio consistent with the closes, usually one
 */
export function splitRestatement(histories: TwoHistories): SplitRestatement | undefined {
  const { days, fields, next, actions, adjustment } = histories;
  const close = fields.get('CLOSE')!; // every market has this field
  const last = close.stored.findLastIndex((value, t) => !isSame(value, close.fresh[t]!));
  if (last < 0) return undefined;
  const ratio = listRatios(close, last).find((each) => isConsistent(fields, { ratio: each, last }));
  const nextRow = close.stored.findIndex((value, t) => t > last && value === value);
  const nextBar = nextRow >= 0 ? { day: days[nextRow]!, close: close.stored[nextRow]! } : next;
  if (ratio === undefined || !isContinued(close, { last, following: nextBar })) return undefined;
  const lastDividedDay = days[last]!;
  const to = nextBar?.day ?? Infinity;
  const split = actions.find(
    ({ type, exDay, status }) =>
      ACTION_KINDS[type] === 'ratio' && status !== 'cancelled' && exDay > lastDividedDay && exDay <= to,
  );
  // Rejects the split if prices are unadjusted. It would be applied a second time to prices that are already divided.
  if (split !== undefined && adjustment === 'none') return undefined;
  return { ratio, exDay: split?.exDay ?? nextBar?.day ?? null, lastDivided: lastDividedDay };
}

const isSame = (x: number, y: number): boolean => x === y || (x !== x && y !== y);

interface Values {
  readonly stored: readonly number[];
  readonly fresh: readonly number[];
}

/** Returns the split ratios consistent with the closes up to a position, simplest first. */
function listRatios({ stored, fresh }: Values, last: number): number[] {
  const units = { held: computeUnit(listPrices(stored)), fresh: computeUnit(listPrices(fresh)) };
  let [low, high] = [0, Number.POSITIVE_INFINITY];
  for (let t = 0; t <= last; t++) {
    const [before, after] = [stored[t]!, fresh[t]!];
    if (before !== before && after !== after) continue;
    if (!(before > 0 && after > 0)) return [];
    const [storedSlack, other] = [computeSlack(before, units.held), computeSlack(after, units.fresh)];
    low = Math.max(low, (before - storedSlack) / (after + other));
    high = Math.min(high, after > other ? (before + storedSlack) / (after - other) : Number.POSITIVE_INFINITY);
  }
  return SPLIT_RATIOS.filter((ratio) => ratio >= low && ratio <= high && (ratio < 1 || ratio >= SPLIT_RATIO_MIN));
}

const listPrices = (values: readonly number[]): number[] => values.filter((value) => value === value);

/** Returns the largest difference due to the rounding of a value. */
const computeSlack = (value: number, unit: number): number => unit / 2 + SINGLE_PRECISION * Math.abs(value);

interface Split {
  readonly ratio: number;
  /** Position of the last bar before the split. */
  readonly last: number;
}

/** Returns true if every field is consistent with the split. */
function isConsistent(fields: TwoHistories['fields'], { ratio, last }: Split): boolean {
  return [...fields].every(([name, values]) => {
    const factors = PRICE_FIELDS.has(name) ? [1 / ratio] : name === 'VOLUME' ? [ratio] : [1, 1 / ratio, ratio];
    return (
      values.stored.every((value, t) => t <= last || isSame(value, values.fresh[t]!)) &&
      factors.some((factor) => isScaled(values, { factor, last, isVolume: name === 'VOLUME' }))
    );
  });
}

function isScaled(
  { stored, fresh }: Values,
  { factor, last, isVolume }: { readonly factor: number; readonly last: number; readonly isVolume: boolean },
): boolean {
  const findUnit = isVolume ? findVolumeUnit : computeUnit;
  const units = { held: findUnit(listPrices(stored)), fresh: findUnit(listPrices(fresh)) };
  for (let t = 0; t <= last; t++) {
    const [expected, value] = [stored[t]! * factor, fresh[t]!];
    if (isSame(expected, value)) continue;
    if (expected !== expected || value !== value) return false;
    const slack = factor * computeSlack(stored[t]!, units.held) + computeSlack(value, units.fresh);
    const slackMax = isVolume ? Math.max(1, VOLUME_ROUNDING_MAX * Math.abs(value)) : Number.POSITIVE_INFINITY;
    if (Math.abs(expected - value) > Math.min(slack, slackMax)) return false;
  }
  return true;
}

/** Returns the unit of volumes, which may be hundreds or thousands. */
function findVolumeUnit(volumes: readonly number[]): number {
  let unit = computeUnit(volumes);
  while (unit >= 1 && unit < 1e9 && volumes.every((volume) => volume % (unit * 10) === 0)) unit *= 10;
  return unit;
}

/** Returns true if the close changes less across the split date after the restatement than before it. */
function isContinued(
  { stored, fresh }: Values,
  { last, following }: { readonly last: number; readonly following: TwoHistories['next'] },
): boolean {
  if (following === null) return last + 1 >= BARS_MIN;
  const computeMove = (close: number): number => Math.abs(Math.log(following.close / close));
  return computeMove(fresh[last]!) < computeMove(stored[last]!);
}

export interface RestatedActions {
  readonly storedActions: readonly CorporateAction[];
  readonly fresh: readonly CorporateAction[];
  /** Last day of the stored history. */
  readonly lastDay: Day;
  /** Returns the maximum difference at which two amounts of cash count as equal. */
  errorOf(action: CorporateAction): number;
}

/**
 * Returns true if the actions of a history are converted like its prices. Cash and subscription prices before the split
 * must be divided, and all other terms unchanged.
 */
export function areRestated(
  { ratio, lastDivided }: SplitRestatement,
  { storedActions, fresh, lastDay, errorOf }: RestatedActions,
): boolean {
  const filterHistory = (actions: readonly CorporateAction[]) => actions.filter(({ exDay }) => exDay <= lastDay);
  const [before, after] = [filterHistory(storedActions), filterHistory(fresh)];
  const sumCash = (actions: readonly CorporateAction[]) =>
    actions.flatMap(({ type, value }) => (ACTION_KINDS[type] === 'cash' ? [value] : []));
  const units = { held: computeUnit(sumCash(before)), fresh: computeUnit(sumCash(after)) };
  const isSameAction = (was: CorporateAction, is: CorporateAction): boolean => {
    const factor = was.exDay <= lastDivided ? 1 / ratio : 1;
    const slack = factor * computeSlack(was.value, units.held) + computeSlack(is.value, units.fresh) + errorOf(is);
    const isSameValue =
      ACTION_KINDS[was.type] === 'cash' ? Math.abs(was.value * factor - is.value) <= slack : was.value === is.value;
    const price = was.subscriptionPrice;
    const isSamePrice =
      price === null
        ? is.subscriptionPrice === null
        : is.subscriptionPrice !== null &&
          Math.abs(price * factor - is.subscriptionPrice) <= computeSlack(price, units.fresh);
    return isSameValue && isSamePrice && formatTerms(was) === formatTerms(is);
  };
  return before.length === after.length && before.every((was, i) => isSameAction(was, after[i]!));
}

/** Returns the terms of an action that a split does not change. */
const formatTerms = (action: CorporateAction): string =>
  toCanonicalJson({ ...action, value: 0, subscriptionPrice: null });
