import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { Adjustment, CorporateAction } from '#domain/market/market-data.js';
import type { Panels } from '../panels/panels.js';
import { compareActions } from './action-rows.js';
import {
  findChangedHistories,
  DIFFERENCES_MAX,
  findLastDays,
  type ChangedBars,
  type LateBars,
} from './changed-histories.js';
import type { DividendError } from './dividend-errors.js';
import { hasAnyValue } from './market-changes.js';
import type { MarketContent } from './market-content.js';
import type { Restatement, RowCounts } from './restatements.js';
import { areRestated, splitRestatement, type SplitRestatement } from './split-restatement.js';
import { compareTables } from './table-changes.js';

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
  /** Actions of all securities after the refresh. */
  readonly actions: readonly CorporateAction[];
  /** Accepted bars of stored days that had no close, by security. */
  readonly late: ReadonlyMap<string, LateBars>;
  /** Day of the last stored close, by position of the security. */
  readonly lastOf: Int32Array;
}

export interface JudgeOptions {
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

/** Returns a function that returns the first unpublished day of a security. */
function createUnpublishedLookup(unpublished: UnpublishedDates | undefined): (identifier: string) => number {
  const held = new Set(unpublished?.held?.identifiers);
  const from = unpublished?.from ?? Infinity;
  return (identifier) => (held.has(identifier) ? Math.min(from, unpublished!.held!.from) : from); // held is not empty then
}

interface ActionLists {
  /** Returns the actions of a security in both versions, as in the source. */
  selectActions(identifier: string): {
    readonly storedActions: readonly CorporateAction[];
    readonly fresh: readonly CorporateAction[];
  };
  /** Returns the maximum difference at which two amounts count as equal, if the dividend was derived from prices. */
  errorOf(action: CorporateAction): number;
  /** Securities with changed actions in their history. */
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

function groupBySecurity(actions: readonly CorporateAction[]): Map<string, CorporateAction[]> {
  const lists = new Map<string, CorporateAction[]>();
  for (const action of actions) {
    const securityActions = lists.get(action.identifier);
    if (securityActions === undefined) lists.set(action.identifier, [action]);
    else securityActions.push(action);
  }
  return lists;
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

/** Returns the bars of a security in both versions, on the days of its history. */
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

/** Counts the bars of a source after the history of a security. */
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
