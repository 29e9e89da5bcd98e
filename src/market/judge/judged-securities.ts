import { compareText } from '#domain/base/findings.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { type Day, formatDay } from '#domain/base/time.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction } from '#domain/market/market-data.js';
import {
  compareActions,
  computePriceUnit,
  SINGLE_PRECISION,
  SPLIT_RATIO_MIN,
  SPLIT_RATIOS,
  groupBySecurity,
} from '../content/action-rows.js';
import { compareTables, hasAnyValue, type Restatement, type RowCounts } from '../content/changes.js';
import type { DividendError, MarketContent } from '../content/market-content.js';
import type { Panels } from '../panels/panels.js';

/** Differences between two versions of the bars of one security. */
interface ChangedBars {
  added: number;
  changed: number;
  removed: number;
  /** Day of the first difference. */
  readonly from: Day;
  /** First differences, at most three. */
  readonly first: Restatement[];
}

export interface LateBars {
  count: number;
  readonly from: Day;
}

/** Stored bars that differ in a source, by security. */
interface ChangedHistories {
  /** Securities whose stored bars differ, and new securities that have bars on stored days. */
  readonly changed: ReadonlyMap<string, ChangedBars>;
  readonly storedIdentifiers: ReadonlySet<string>;
  /** Bars without a stored close that arrived late. */
  readonly late: ReadonlyMap<string, LateBars>;
}

const DIFFERENCES_MAX = 3;

/** Number of stored dates, counted from the last one, on which a missing close may arrive late. */
const LATE_DATES = 5;

/**
 * Returns the day of the last stored close of each security. A row with other values is no bar yet: its close may be
 * late. @cost one pass backwards from the last day, which ends at the last close of each security
 */
function findLastDays({ identifiers, dates, fields }: Panels): Int32Array {
  const close = fields.get('CLOSE')!;
  return Int32Array.from(identifiers, (_, n) => {
    let t = dates.length - 1;
    while (t > 0 && Number.isNaN(close[t * identifiers.length + n]!)) t -= 1;
    return dates[t]!;
  });
}

/**
 * Compares the bars of a source with the stored bars, in the stored columns. Compares stored securities up to their
 * last close, and new securities up to the last day of the store. A bar that gets its close late is no change.
 * @param until last day of accepted bars
 * @cost one pass over the cells of both
 */
function findChangedHistories(heldPanels: Panels, fresh: Panels, lastOf: Int32Array, until: Day): ChangedHistories {
  const axes = alignVersions(heldPanels, fresh);
  const changedBars = new Map<string, ChangedBars>();
  const heldNames = new Set<string>();
  const lateBars = new Map<string, LateBars>();
  const lateFrom = heldPanels.dates.at(-LATE_DATES) ?? -Infinity;
  const [heldClose, freshClose] = [heldPanels.fields.get('CLOSE'), fresh.fields.get('CLOSE')];
  for (const [day, row] of axes.rows) {
    for (const { identifier, from, to, n } of axes.columns) {
      const oldCell = row[0] < 0 || from < 0 ? -1 : row[0] + from;
      const newCell = row[1] < 0 || to < 0 ? -1 : row[1] + to;
      const kind = classifyDifference(axes.fields, oldCell, newCell);
      if (kind === undefined) continue;
      const isAfterLast = n >= 0 && day > lastOf[n]!;
      const isLateClose =
        Number.isNaN(getValue(heldClose, oldCell)) && !Number.isNaN(getValue(freshClose, newCell)) && day >= lateFrom;
      if (n >= 0 && isLateClose && day <= until) {
        const late = lateBars.get(identifier);
        if (late === undefined) lateBars.set(identifier, { count: 1, from: day });
        else late.count += 1;
        continue;
      }
      if (isAfterLast) continue;
      if (n >= 0) heldNames.add(identifier);
      let bars = changedBars.get(identifier);
      if (bars === undefined)
        changedBars.set(identifier, (bars = { added: 0, changed: 0, removed: 0, from: day, first: [] }));
      bars[kind] += 1;
      if (bars.first.length < DIFFERENCES_MAX)
        bars.first.push(...listRestatements(axes.fields, [oldCell, newCell], { identifier, day }));
    }
  }
  for (const { first } of changedBars.values()) first.splice(DIFFERENCES_MAX);
  return { changed: changedBars, storedIdentifiers: heldNames, late: lateBars };
}

interface Column {
  readonly identifier: string;
  /** Column of each version, -1 if it is absent; `from` is the column in the stored version. */
  readonly from: number;
  readonly to: number;
  readonly n: number;
}

interface Field {
  readonly name: string;
  readonly was: Float64Array;
  readonly is: Float64Array | undefined;
}

/**
 * Returns both versions on their combined axes, up to the last stored day. Each day has the first cell of its row in
 * both versions, which is -1 if a version lacks the day.
 */
function alignVersions(heldPanels: Panels, fresh: Panels) {
  const [before, after] = [heldPanels.identifiers.length, fresh.identifiers.length];
  const freshPositions = new Map(fresh.identifiers.map((identifier, n) => [identifier, n]));
  const storedIdentifiers = new Set(heldPanels.identifiers);
  const columns: Column[] = [
    ...heldPanels.identifiers.map((identifier, n) => ({
      identifier,
      from: n,
      to: freshPositions.get(identifier) ?? -1,
      n,
    })),
    ...fresh.identifiers.flatMap((identifier, to) =>
      storedIdentifiers.has(identifier) ? [] : [{ identifier, from: -1, to, n: -1 }],
    ),
  ];
  const lastDay = heldPanels.dates.at(-1)!;
  const rows = new Map<Day, [number, number]>();
  heldPanels.dates.forEach((day, t) => rows.set(day, [t * before, -1]));
  fresh.dates.forEach((day, t) => {
    const row = rows.get(day);
    if (row !== undefined) row[1] = t * after;
    else if (day <= lastDay) rows.set(day, [-1, t * after]);
  });
  const fields: Field[] = [...heldPanels.fields].map(([name, was]) => ({ name, was, is: fresh.fields.get(name) }));
  return { columns, fields, rows: new Map([...rows].toSorted(([a], [b]) => a - b)) };
}

type Cells = readonly [was: number, is: number];

const getValue = (panel: Float64Array | undefined, cell: number): number =>
  cell < 0 ? Number.NaN : (panel?.[cell] ?? Number.NaN);

/** Returns the kind of difference of a bar; undefined if the bars are equal. */
function classifyDifference(fields: readonly Field[], was: number, is: number): keyof RowCounts | undefined {
  let [isOther, isHeld, isFresh] = [false, false, false];
  for (const field of fields) {
    const x = getValue(field.was, was);
    const y = getValue(field.is, is);
    if (x === x) isHeld = true;
    if (y === y) isFresh = true;
    if (x !== y && (x === x || y === y)) isOther = true;
  }
  if (!isOther) return undefined;
  return isHeld && isFresh ? 'changed' : isHeld ? 'removed' : 'added';
}

/** Returns the values of a bar that differ. */
function listRestatements(
  fields: readonly Field[],
  [was, is]: Cells,
  { identifier, day }: { readonly identifier: string; readonly day: Day },
): Restatement[] {
  return fields.flatMap(({ name, was: before, is: after }) => {
    const [x, y] = [getValue(before, was), getValue(after, is)];
    if (x === y || (x !== x && y !== y)) return [];
    return {
      dataset: 'market' as const,
      identifier,
      date: formatDay(day),
      column: name,
      before: x === x ? x : null,
      after: y === y ? y : null,
    };
  });
}

/** History that a vendor has divided by a split ratio. */
interface SplitRestatement {
  /** Number of shares after the split per share before it. */
  readonly ratio: number;
  /** First day with prices that are not divided. It is null if neither the store nor the source has such a day yet. */
  readonly exDay: Day | null;
  readonly lastDivided: Day;
}

/** Two versions of the bars of one security on its stored days. */
interface TwoHistories {
  readonly days: readonly Day[];
  /** Values of each field in both versions. A missing value is NaN. */
  readonly fields: ReadonlyMap<string, { readonly stored: readonly number[]; readonly fresh: readonly number[] }>;
  /** First close of the source after these days. */
  readonly next: { readonly day: Day; readonly close: number } | null;
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
function splitRestatement(histories: TwoHistories): SplitRestatement | undefined {
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
  const units = { held: computePriceUnit(listPrices(stored)), fresh: computePriceUnit(listPrices(fresh)) };
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
  const findUnit = isVolume ? findVolumeUnit : computePriceUnit;
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

function findVolumeUnit(volumes: readonly number[]): number {
  let unit = computePriceUnit(volumes);
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

interface RestatedActions {
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
function areRestated(
  { ratio, lastDivided }: SplitRestatement,
  { storedActions, fresh, lastDay, errorOf }: RestatedActions,
): boolean {
  const filterHistory = (actions: readonly CorporateAction[]) => actions.filter(({ exDay }) => exDay <= lastDay);
  const [before, after] = [filterHistory(storedActions), filterHistory(fresh)];
  const sumCash = (actions: readonly CorporateAction[]) =>
    actions.flatMap(({ type, value }) => (ACTION_KINDS[type] === 'cash' ? [value] : []));
  const units = { held: computePriceUnit(sumCash(before)), fresh: computePriceUnit(sumCash(after)) };
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

/** Security whose stored history differs in the source. The store keeps all of its data for the security. */
export interface Rejection {
  readonly identifier: string;
  /** Differences in the bars of its history. For a new security, these are bars on stored days. */
  readonly bars: RowCounts;
  /** Differences in the actions of its history. */
  readonly actions: RowCounts;
  /** Number of later bars that are not accepted. */
  readonly heldBack: number;
  /** First differences in values. */
  readonly first: readonly Restatement[];
}

/** Accepted change of the last part of a history. */
export interface Correction extends Omit<Rejection, 'heldBack'> {
  /** First changed day. */
  readonly from: Day;
}

/** Decision of a refresh about each security. A security in neither map keeps its history and receives later bars. */
export interface SecurityJudgement {
  readonly rejected: ReadonlyMap<string, Rejection>;
  /** Securities with their split. For them, all data of the source is accepted. */
  readonly restated: ReadonlyMap<string, SplitRestatement>;
  /** Securities with a changed history on dates that were never published. For these dates, the source is accepted. */
  readonly corrected: ReadonlyMap<string, Correction>;
  readonly actions: readonly CorporateAction[];
  /** Accepted bars of stored days that had no close, by security. */
  readonly late: ReadonlyMap<string, LateBars>;
  /** Day of the last stored close, by position of the security. */
  readonly lastOf: Int32Array;
}

interface JudgeOptions {
  readonly until: Day | null;
  /** True if the source delivered all bars. */
  readonly isWhole: boolean;
  readonly adjustment: Adjustment;
  readonly dividendErrors: readonly DividendError[];
  /** Dates that were never published; absent if there are none. */
  readonly unpublished?: UnpublishedDates | undefined;
}

/** Dates whose bars no published close has used. Their bars are no history yet: a source may correct them. */
export interface UnpublishedDates {
  /** First unpublished day; null if no day counts as unpublished. */
  readonly from: Day | null;
  /** Securities with an earlier first unpublished day, which a check has held back since. */
  readonly held: { readonly identifiers: readonly string[]; readonly from: Day } | null;
}

/**
 * Decides about each security as a whole, with its bars and its corporate actions. A changed history is rejected unless
 * a split explains the change.
 * @param actions of the source.
 * @cost one pass over the cells of both if all bars were delivered, and a comparison of the actions
 */
export function judgeSecurities(
  storedContent: MarketContent,
  fresh: Panels,
  actions: readonly CorporateAction[],
  options: JudgeOptions,
): SecurityJudgement {
  const lastDay = options.until ?? Infinity;
  const lastOf = findLastDays(storedContent);
  const noChanges = { changed: new Map<string, ChangedBars>(), late: new Map<string, LateBars>() };
  const bars = options.isWhole ? findChangedHistories(storedContent, fresh, lastOf, lastDay) : noChanges;
  const lists = listActions(storedContent, actions, { lastOf, dividendErrors: options.dividendErrors });
  const restatedSplits = new Map<string, SplitRestatement>();
  for (const [identifier, counts] of bars.changed) {
    const split = findRestatement(identifier, counts, { storedContent, fresh, lastOf, lists, options });
    if (split !== undefined) restatedSplits.set(identifier, split);
  }
  const rejections = new Map<string, Rejection>();
  const corrections = new Map<string, Correction>();
  const findUnpublished = createUnpublishedLookup(options.unpublished);
  for (const identifier of [...new Set([...bars.changed.keys(), ...lists.changed.keys()])].toSorted(compareText)) {
    if (restatedSplits.has(identifier)) continue;
    const changedActions = lists.changed.get(identifier) ?? NO_CHANGE;
    const changedBars = bars.changed.get(identifier) ?? NO_CHANGE;
    const change = {
      identifier,
      bars: selectCounts(changedBars),
      actions: selectCounts(changedActions),
      first: [...changedBars.first, ...changedActions.first].slice(0, DIFFERENCES_MAX),
    };
    const from = Math.min(changedBars.from, changedActions.from);
    if (from >= findUnpublished(identifier) && from <= lastDay) corrections.set(identifier, { ...change, from });
    else {
      const heldBack = countLaterBars(identifier, { storedContent, fresh, lastOf, until: lastDay });
      rejections.set(identifier, { ...change, heldBack });
    }
  }
  const late = new Map(
    [...bars.late].filter(([identifier]) => !rejections.has(identifier) && !restatedSplits.has(identifier)),
  );
  return {
    rejected: rejections,
    restated: restatedSplits,
    corrected: corrections,
    actions: lists.taken(rejections, restatedSplits),
    late,
    lastOf,
  };
}

interface ChangedActions extends RowCounts {
  /** Ex-date of the first difference. */
  readonly from: Day;
  readonly first: readonly Restatement[];
}

const NO_CHANGE: ChangedActions = { added: 0, changed: 0, removed: 0, from: Infinity, first: [] };

const selectCounts = ({ added, changed, removed }: RowCounts): RowCounts => ({ added, changed, removed });

function createUnpublishedLookup(unpublished: UnpublishedDates | undefined): (identifier: string) => number {
  const held = new Set(unpublished?.held?.identifiers);
  const from = unpublished?.from ?? Infinity;
  return (identifier) => (held.has(identifier) ? Math.min(from, unpublished!.held!.from) : from); // held is not empty then
}

interface ActionLists {
  selectActions(identifier: string): {
    readonly storedActions: readonly CorporateAction[];
    readonly fresh: readonly CorporateAction[];
  };
  /** Returns the maximum difference at which two amounts count as equal, if the dividend was derived from prices. */
  errorOf(action: CorporateAction): number;
  readonly changed: ReadonlyMap<string, ChangedActions>;
  taken(rejected: ReadonlyMap<string, unknown>, restated: ReadonlyMap<string, unknown>): readonly CorporateAction[];
}

/**
 * Returns the actions of each security in both versions. A dividend that was derived from prices keeps its stored
 * amount if it differs only by rounding.
 */
function listActions(
  storedContent: MarketContent,
  actions: readonly CorporateAction[],
  { lastOf, dividendErrors }: { readonly lastOf: Int32Array; readonly dividendErrors: readonly DividendError[] },
): ActionLists {
  const errors = new Map(dividendErrors.map(({ identifier, exDay, error }) => [`${identifier} ${exDay}`, error]));
  const computeError = ({ identifier, exDay, type }: CorporateAction): number =>
    type === 'DIVIDEND' ? (errors.get(`${identifier} ${exDay}`) ?? 0) : 0;
  const [before, after] = [groupBySecurity(storedContent.actions), groupBySecurity(actions)];
  const settledActions = new Map<string, readonly CorporateAction[]>();
  const changedActions = new Map<string, ChangedActions>();
  storedContent.identifiers.forEach((identifier, n) => {
    const [was, is] = [before.get(identifier) ?? [], after.get(identifier) ?? []];
    if (actions === storedContent.actions || isSameList(was, is)) return;
    const alignedActions = is.map((action) => findStoredDividend(action, was, computeError(action)) ?? action);
    if (alignedActions.some((action, i) => action !== is[i])) settledActions.set(identifier, alignedActions);
    const differences = findChanges(identifier, [was, alignedActions], { storedContent, lastDay: lastOf[n]! });
    if (differences !== undefined) changedActions.set(identifier, differences);
  });
  return {
    selectActions: (identifier) => ({
      storedActions: before.get(identifier) ?? [],
      fresh: after.get(identifier) ?? [],
    }),
    errorOf: computeError,
    changed: changedActions,
    taken(rejected, restated) {
      const isReplaced = (identifier: string) =>
        rejected.has(identifier) || (settledActions.has(identifier) && !restated.has(identifier));
      const names = new Set([...rejected.keys(), ...settledActions.keys()].filter(isReplaced));
      if (names.size === 0) return actions;
      const replacedNames = [...names].flatMap((identifier) =>
        rejected.has(identifier) ? (before.get(identifier) ?? []) : settledActions.get(identifier)!,
      );
      return [...actions.filter(({ identifier }) => !names.has(identifier)), ...replacedNames].toSorted(compareActions);
    },
  };
}

const isSameList = (one: readonly CorporateAction[], other: readonly CorporateAction[]): boolean =>
  one.length === other.length && one.every((action, i) => toCanonicalJson(action) === toCanonicalJson(other[i]));

/** Returns the stored dividend of a day whose amount differs by at most the rounding error. */
function findStoredDividend(
  action: CorporateAction,
  storedActions: readonly CorporateAction[],
  error: number,
): CorporateAction | undefined {
  if (error === 0) return undefined;
  return storedActions.find(
    ({ type, exDay, value }) =>
      type === action.type && exDay === action.exDay && Math.abs(value - action.value) <= error,
  );
}

/** Returns the differences in the actions of a history; undefined if there are none. */
function findChanges(
  identifier: string,
  [was, is]: readonly [readonly CorporateAction[], readonly CorporateAction[]],
  { storedContent, lastDay }: { readonly storedContent: MarketContent; readonly lastDay: Day },
): ChangedActions | undefined {
  const collectTableChanges = (isLiteral: boolean) =>
    compareTables(
      { ...storedContent, actions: was },
      { ...storedContent, actions: is },
      { identifiers: [identifier], lastDay, ...(isLiteral ? { isLiteral } : {}) },
    ).corporate_actions;
  const counts = collectTableChanges(false).history;
  if (counts.added + counts.changed + counts.removed === 0) return undefined;
  const reports = collectTableChanges(true).restatements.filter(
    ({ date }) => date === null || date <= formatDay(lastDay),
  );
  const [keys, otherKeys] = [was, is].map((actions) => new Set(actions.map((action) => toCanonicalJson(action))));
  const isChanged = (action: CorporateAction): boolean => {
    const key = toCanonicalJson(action);
    return !keys!.has(key) || !otherKeys!.has(key);
  };
  const from = Math.min(...[...was, ...is].filter(isChanged).map(({ exDay }) => exDay));
  return { ...counts, from, first: reports.slice(0, DIFFERENCES_MAX) };
}

interface Versions {
  readonly storedContent: MarketContent;
  readonly fresh: Panels;
  readonly lastOf: Int32Array;
}

/**
 * Returns the split by which the history of a security was converted. Returns undefined if the split does not explain
 * every difference.
 */
function findRestatement(
  identifier: string,
  { added, removed }: RowCounts,
  {
    storedContent,
    fresh,
    lastOf,
    lists,
    options: { adjustment },
  }: Versions & { readonly lists: ActionLists; readonly options: JudgeOptions },
): SplitRestatement | undefined {
  const [n, m] = [storedContent.identifiers.indexOf(identifier), fresh.identifiers.indexOf(identifier)];
  if (n < 0 || m < 0 || added + removed > 0) return undefined;
  const lastDay = lastOf[n]!;
  const actions = lists.selectActions(identifier);
  const split = splitRestatement({
    ...selectHistories({ storedContent, fresh }, [n, m], lastDay),
    actions: actions.fresh,
    adjustment,
  });
  const isWhole = split !== undefined && areRestated(split, { ...actions, lastDay, errorOf: lists.errorOf });
  return isWhole ? split : undefined;
}

function selectHistories(
  { storedContent, fresh }: Pick<Versions, 'storedContent' | 'fresh'>,
  [n, m]: readonly [number, number],
  lastDay: Day,
) {
  const [width, freshWidth] = [storedContent.identifiers.length, fresh.identifiers.length];
  const rowByDay = new Map([...fresh.dates].map((day, t) => [day, t]));
  const panels = [...storedContent.fields.values()];
  const rows = [...storedContent.dates.keys()].filter(
    (t) => storedContent.dates[t]! <= lastDay && hasAnyValue(panels, t * width + n),
  );
  const readFresh = (panel: Float64Array | undefined, t: number): number => {
    const row = rowByDay.get(storedContent.dates[t]!);
    return row === undefined ? Number.NaN : (panel?.[row * freshWidth + m] ?? Number.NaN);
  };
  const fields = new Map(
    [...storedContent.fields].map(([name, panel]) => {
      const freshPanel = fresh.fields.get(name);
      return [
        name,
        { stored: rows.map((t) => panel[t * width + n]!), fresh: rows.map((t) => readFresh(freshPanel, t)) },
      ] as const;
    }),
  );
  const close = fresh.fields.get('CLOSE');
  const nextRow = fresh.dates.findIndex(
    (day, t) => day > lastDay && close !== undefined && close[t * freshWidth + m]! > 0,
  );
  const next = nextRow < 0 ? null : { day: fresh.dates[nextRow]!, close: close![nextRow * freshWidth + m]! };
  return { days: rows.map((t) => storedContent.dates[t]!), fields, next };
}

function countLaterBars(
  identifier: string,
  { storedContent, fresh, lastOf, until }: Versions & { readonly until: Day },
): number {
  const [n, m] = [storedContent.identifiers.indexOf(identifier), fresh.identifiers.indexOf(identifier)];
  if (m < 0) return 0;
  const lastStoredDay = n < 0 ? storedContent.dates.at(-1)! : lastOf[n]!;
  const panels = [...fresh.fields.values()];
  return fresh.dates.reduce(
    (count, day, t) =>
      day > lastStoredDay && day <= until && hasAnyValue(panels, t * fresh.identifiers.length + m) ? count + 1 : count,
    0,
  );
}
