import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import type { Finding } from '#domain/base/findings.js';
import { findFirstAtLeast, formatPrices } from '#domain/base/numbers.js';
import { type Day, formatDay, toWeekday } from '#domain/base/time.js';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { isCurrency, parsePair } from '#domain/market/rates.js';
import { type Adjustment, type CorporateAction, readReference } from '#domain/market/market-data.js';
import {
  type CloseStep,
  computeUnexplainedGrowth,
  describeJump,
  isJump,
  isMoved,
  isOrdinaryMove,
  JUMP_MAX,
  type UnexplainedGrowth,
} from '#domain/market/growth.js';
import type { MarketContent } from '../content/market-content.js';
import type { DataProblem, Problems } from '../tables/problems.js';

/** Maximum number of sessions after an ex-date on which the price of another security is searched. */
const SEARCHED_SESSIONS = 10;

/** Step of a close from one bar to the next, with the actions that take effect in between. */
export interface ActionStep extends CloseStep {
  /** Position of the security. It is that of the new code if a change of ticker takes effect in the step. */
  readonly n: number;
  /** New code of a change of ticker, which has the second bar. Default: both bars have one code. */
  readonly renamedTo?: string;
  /** Rows of both bars. */
  readonly from: number;
  readonly to: number;
  readonly growth: UnexplainedGrowth;
  /** True if the actions do not explain the move of the close, or the close does not move although they require it. */
  readonly isJump: boolean;
  /** True if the close moved. */
  readonly isMoved: boolean;
}

/**
 * Returns the steps of closes with actions, by security. Actions before the first bar or after the last bar of their
 * security are in no step.
 * @cost O(1) per action, plus the sessions on which its security has no bar
 */
export function listActionSteps(content: MarketContent, adjustment: Adjustment): ActionStep[] {
  const { identifiers, dates, actions, fields } = content;
  const close = fields.get('CLOSE')!;
  const width = identifiers.length;
  const position = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const findRelatedPrice = createRelatedPrices(content, position);
  const groups = new Map<string, StepBars>();
  for (const action of actions) {
    const n = position.get(action.identifier);
    if (n === undefined || action.status === 'cancelled') continue;
    const session = findFirstAtLeast(dates, action.exDay);
    const hasBar = (t: number) => !Number.isNaN(close[t * width + n]!);
    let [from, to] = [session - 1, session];
    while (from >= 0 && !hasBar(from)) from--;
    while (to < dates.length && !hasBar(to)) to++;
    if (from < 0 || to === dates.length) continue;
    const key = `${n} ${to}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { n, from, to, actions: [action] });
    else group.actions.push(action);
  }
  return [...groups.values()].map(({ n, from, to, actions: groupActions }) => {
    const step = {
      before: close[from * width + n]!,
      close: close[to * width + n]!,
      actions: groupActions.toSorted((a, b) => a.exDay - b.exDay),
      adjustment,
      findRelatedPrice,
    };
    // The bars of an old code belong to another security once its new code has a bar.
    const isOther = groupActions.some((action) => (findNewCode(action, content, position)?.to ?? Infinity) <= to);
    const growth = isOther ? ANY_GROWTH : computeUnexplainedGrowth(step);
    return { ...step, n, from, to, growth, isJump: isJump(growth), isMoved: isMoved(step) };
  });
}

interface StepBars {
  readonly n: number;
  readonly from: number;
  readonly to: number;
  readonly actions: CorporateAction[];
}

/** Growth of a step whose bars belong to different securities. */
const ANY_GROWTH: UnexplainedGrowth = { growths: [{ low: 0, high: Number.POSITIVE_INFINITY }], isAdjusted: true };

/**
 * Returns the steps from the last close of an old code to the first close of its new code on or after the ex-date of a
 * change of ticker, which an index holds afterwards. Codes in different currencies are not compared.
 * @cost O(1) per change of ticker, plus the actions of the old code and the sessions without a bar
 */
export function listRenamedSteps(content: MarketContent, adjustment: Adjustment): ActionStep[] {
  const { identifiers, dates, actions, fields, reference } = content;
  const changes = actions.filter(({ type }) => type === 'TICKER_CHANGE');
  if (changes.length === 0) return [];
  const ownActions = new Map(changes.map(({ identifier }) => [identifier, [] as CorporateAction[]]));
  for (const action of actions) if (action.status !== 'cancelled') ownActions.get(action.identifier)?.push(action);
  const close = fields.get('CLOSE')!;
  const width = identifiers.length;
  const position = new Map(identifiers.map((identifier, n) => [identifier, n]));
  const findRelatedPrice = createRelatedPrices(content, position);
  return changes.flatMap((change): ActionStep[] => {
    const old = position.get(change.identifier);
    const target = findNewCode(change, content, position);
    if (old === undefined || target === undefined) return [];
    const { n, to } = target;
    let from = to - 1;
    while (from >= 0 && Number.isNaN(close[from * width + old]!)) from--;
    const readCurrency = (name: string) => readReference(reference, name, 'CURRENCY', change.exDay);
    if (from < 0 || readCurrency(change.identifier) !== readCurrency(identifiers[n]!)) return [];
    const step = {
      before: close[from * width + old]!,
      close: close[to * width + n]!,
      actions: ownActions
        .get(change.identifier)!
        .filter((action) => action === change || (action.exDay > dates[from]! && action.exDay <= dates[to]!))
        .toSorted((a, b) => a.exDay - b.exDay),
      adjustment,
      findRelatedPrice,
    };
    const growth = computeUnexplainedGrowth(step);
    const renamedTo = identifiers[n]!;
    return [{ ...step, n, from, to, renamedTo, growth, isJump: isJump(growth), isMoved: isMoved(step) }];
  });
}

/** Returns the position and the first bar of the new code of a change of ticker; undefined if it is not applied. */
function findNewCode(
  { type, identifier, related, exDay, status }: CorporateAction,
  { identifiers, dates, fields }: MarketContent,
  position: ReadonlyMap<string, number>,
): { readonly n: number; readonly to: number } | undefined {
  const n = related === null || related === identifier ? undefined : position.get(related);
  if (type !== 'TICKER_CHANGE' || status === 'cancelled' || n === undefined) return undefined;
  const close = fields.get('CLOSE')!;
  let to = findFirstAtLeast(dates, exDay);
  while (to < dates.length && Number.isNaN(close[to * identifiers.length + n]!)) to++;
  return to === dates.length ? undefined : { n, to };
}

/** Returns a function that returns the first price of the related security of an action on or soon after its ex-date. */
function createRelatedPrices(
  { identifiers, dates, fields, reference }: MarketContent,
  position: ReadonlyMap<string, number>,
): CloseStep['findRelatedPrice'] {
  const close = fields.get('CLOSE')!;
  return ({ identifier, related, exDay }) => {
    const n = related === null ? undefined : position.get(related);
    const readCurrency = (name: string) => readReference(reference, name, 'CURRENCY', exDay);
    if (n === undefined || readCurrency(identifier) !== readCurrency(related!)) return Number.NaN;
    const first = findFirstAtLeast(dates, exDay);
    for (let t = first; t < Math.min(first + SEARCHED_SESSIONS, dates.length); t++) {
      const price = close[t * identifiers.length + n]!;
      if (!Number.isNaN(price)) return price;
    }
    return Number.NaN;
  };
}

/** Maximum number of days by which a bar may be later than the current day: weeks, for clocks and test data. */
const BAR_DAYS_MAX = 31;

/** Maximum number of days by which an announced action may be later than the current day. */
const ACTION_DAYS_MAX = 3 * 366;

/** Maximum number of identifiers in a finding. */
const KEYS_LISTED_MAX = 5;

/** Warns of bars and values of series in the future, and of actions in the far future: their dates are mistaken. */
export function warnOfFutureDays(content: MarketContent, today: Day, problems: Problems): void {
  const { dates, actions, series } = content;
  const warn = (path: string, what: string, day: Day): void =>
    problems.warning({
      code: 'BAD_DATE',
      path,
      column: 'date',
      message: `${what} is on ${formatDay(day)}, after the current day ${formatDay(today)}. The date, or the date format, is probably wrong.`,
      value: formatDay(day),
    });
  for (let t = findFirstAtLeast(dates, today + BAR_DAYS_MAX + 1); t < dates.length; t++) {
    const [first, ...others] = listSecurities(content, t);
    if (first === undefined) continue;
    const what =
      others.length === 0 ? `A bar of ${first}` : `A bar of ${first} and of ${others.length} more securities`;
    warn(`market[${first} ${formatDay(dates[t]!)}].date`, what, dates[t]!);
  }
  for (const { identifier, days } of series?.values() ?? []) {
    const day = days.at(-1);
    if (day !== undefined && day > today + BAR_DAYS_MAX)
      warn(`series[${identifier} ${formatDay(day)}].date`, `The last value of ${identifier}`, day);
  }
  for (const { identifier, type, exDay } of actions)
    if (exDay > today + ACTION_DAYS_MAX)
      warn(`corporate_actions[${identifier} ${formatDay(exDay)}].ex_date`, `The ${type} of ${identifier}`, exDay);
}

function listSecurities({ identifiers, fields }: MarketContent, t: number): readonly string[] {
  const row = t * identifiers.length;
  const panels = [...fields.values()];
  return identifiers.filter((_, n) => panels.some((panel) => !Number.isNaN(panel[row + n]!)));
}

/**
 * Warns of identifiers that differ only in case. They are two securities for the service, but more often one security
 * with two spellings.
 */
export function warnOfSimilarIdentifiers(content: MarketContent, problems: Problems): void {
  const { identifiers, reference, actions } = content;
  const spellings = new Map<string, Set<string>>();
  const names = new Set([...identifiers, ...reference.rows.keys(), ...actions.map(({ identifier }) => identifier)]);
  for (const name of names) {
    const key = name.toLowerCase();
    const known = spellings.get(key);
    if (known === undefined) spellings.set(key, new Set([name]));
    else known.add(name);
  }
  for (const known of spellings.values()) {
    if (known.size < 2) continue;
    const [first, ...others] = [...known].toSorted();
    const listed = others.slice(0, KEYS_LISTED_MAX).join(', ');
    problems.warning({
      code: 'DUPLICATE_ID',
      path: `market.${first}`,
      column: 'identifier',
      message: `The identifiers ${first} and ${listed} differ only in upper and lower case. They are separate securities.`,
      value: first,
    });
  }
}

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
function createUnexplainedJump(content: MarketContent, step: ActionStep): DataProblem {
  const { n, from, to, close } = step;
  const [fromDay, toDay] = [content.dates[from]!, content.dates[to]!];
  const message = describeJump({ ...step, fromDay, toDay }, step.growth);
  return { code: 'PRICE_JUMP', path: formatBarPath(content, n, to), message, value: close };
}

function formatBarPath({ identifiers, dates }: MarketContent, n: number, t: number): string {
  return `market[${identifiers[n]} ${formatDay(dates[t]!)}].CLOSE`;
}

const DAYS_PER_WEEK = 7;
const WEEKDAYS_PER_WEEK = 5;

/**
 * Warns of gaps in a whole market: more than ten weekdays in a row without any bar (GAP_LONG). The history of a single
 * security cannot show such gaps, because the sessions are the dates of the store. A market whose dates are usually
 * that far apart (monthly closes) has no gaps.
 * @param dates of the store, ascending
 * @cost O(dates)
 */
export function warnOfMissingDays(dates: Int32Array, problems: Problems): void {
  const gaps: { readonly to: number; readonly days: number }[] = [];
  for (let t = 1; t < dates.length; t++) {
    const days = countWeekdaysBetween(dates[t - 1]!, dates[t]!);
    if (days > GAP_SESSIONS_MAX) gaps.push({ to: t, days });
  }
  if (2 * gaps.length >= dates.length - 1) return;
  for (const { to, days } of gaps)
    problems.warning({
      code: 'GAP_LONG',
      path: `market[${formatDay(dates[to]!)}]`,
      message: `The market has no bar on ${days} weekdays between ${formatDay(dates[to - 1]!)} and ${formatDay(dates[to]!)}; gaps of more than ${GAP_SESSIONS_MAX} are unusual.`,
    });
}

/** Counts the days from Monday to Friday between two days, both exclusive. */
function countWeekdaysBetween(from: Day, to: Day): number {
  const days = to - from - 1;
  const weeks = Math.floor(days / DAYS_PER_WEEK);
  let count = weeks * WEEKDAYS_PER_WEEK;
  for (let day = from + 1 + weeks * DAYS_PER_WEEK; day < to; day++) if (toWeekday(day) < WEEKDAYS_PER_WEEK) count += 1;
  return count;
}

/**
 * Share of the expected securities without a bar from which on a date is suspect. Halts, suspensions or stale quotes of
 * single securities stay below it. A partial delivery of a vendor does not.
 */
const PARTIAL_SHARE = 0.1;

/**
 * Minimum number of securities without a bar for a suspect date. A single security may be halted, even in a small
 * market.
 */
const PARTIAL_NAMES_MIN = 2;

/** Maximum number of dates with an individual finding. These are the latest dates; earlier dates share one finding. */
const DATES_MAX = 5;

/** Maximum number of securities in the paths of a finding, and in its message. */
const NAMES_MAX = 20;
const NAMES_LISTED_MAX = 3;

interface PartialDate {
  readonly day: Day;
  readonly bars: number;
  readonly missing: readonly string[];
}

/**
 * Returns dates on which only some securities have a bar: PARTIAL_DATE. A security is expected on a date if it has a
 * bar on one of the ten dates before and has not ended since. It has not ended if it has a later bar, or if no action
 * ends it. A security is not expected if the calendar of its EXCHANGE has no session. If it has no exchange, the
 * calendars of the stored indices decide: it is not expected if one of them has no session. A date is partial if at
 * least two securities and a tenth of the expected ones are missing.
 * @param codes of the calendars of the stored indices
 * @param open opens the calendars of the service; called at most once, and only if a calendar is needed
 * @returns warnings, the latest dates first
 * @cost two passes over CLOSE
 */
export function findPartialDates(
  content: MarketContent,
  { codes, open }: { readonly codes: readonly string[]; readonly open: () => Calendars },
): Finding[] {
  const { identifiers, dates } = content;
  const close = content.fields.get('CLOSE')!;
  const assets = identifiers.length;
  const lastExpectedRows = computeLastExpected(content, close);
  const isClosed = createClosureCheck(content, codes, callOnce(open));
  const lastBar = new Int32Array(assets).fill(-1);
  const results: PartialDate[] = [];
  /** True if every security has a bar on the previous day and `lastBar` does not record this yet. */
  let isBehind = false;
  for (let t = 0; t < dates.length; t++) {
    const row = t * assets;
    if (isWhole(close, row, assets)) {
      isBehind = true;
      continue;
    }
    if (isBehind) lastBar.fill(t - 1);
    isBehind = false;
    const absentColumns: number[] = [];
    let bars = 0;
    let expectedBars = 0;
    for (let n = 0; n < assets; n++) {
      const price = close[row + n]!;
      const previousRow = lastBar[n]!;
      const isRecent = previousRow >= 0 && t - previousRow <= GAP_SESSIONS_MAX;
      if (price === price) {
        bars += 1;
        if (isRecent) expectedBars += 1;
        lastBar[n] = t;
      } else if (isRecent && t <= lastExpectedRows[n]!) absentColumns.push(n);
    }
    if (!isPartial(absentColumns.length, expectedBars + absentColumns.length)) continue;
    const missingColumns = absentColumns.filter((n) => !isClosed(n, dates[t]!));
    if (isPartial(missingColumns.length, expectedBars + missingColumns.length))
      results.push({ day: dates[t]!, bars, missing: missingColumns.map((n) => identifiers[n]!) });
  }
  return listFindings(results.toReversed());
}

/** Returns true if a date with this number of missing securities is suspect. */
export const isPartial = (missing: number, expected: number): boolean =>
  missing >= PARTIAL_NAMES_MIN && missing >= PARTIAL_SHARE * expected;

function isWhole(close: Float64Array, row: number, assets: number): boolean {
  for (let cell = row; cell < row + assets; cell++) if (close[cell] !== close[cell]) return false;
  return true;
}

/**
 * Returns the last date on which each security is expected. It is the date of its last bar, or the last date of the
 * store if the security may return.
 */
function computeLastExpected({ identifiers, dates, actions }: MarketContent, close: Float64Array): Int32Array {
  const assets = identifiers.length;
  const last = new Int32Array(assets).fill(-1);
  const pendingColumns = last.map((_, n) => n);
  for (let t = dates.length - 1, count = assets; t >= 0 && count > 0; t--) {
    let pendingCount = 0;
    for (let k = 0; k < count; k++) {
      const n = pendingColumns[k]!;
      if (Number.isNaN(close[t * assets + n]!)) pendingColumns[pendingCount++] = n;
      else last[n] = t;
    }
    count = pendingCount;
  }
  const endDayByIdentifier = new Map<string, Day>();
  for (const { identifier, type, exDay, status } of actions)
    if (ENDING_ACTIONS.has(type) && status !== 'cancelled') endDayByIdentifier.set(identifier, exDay);
  return last.map((t, n) => {
    const end = t < 0 ? undefined : endDayByIdentifier.get(identifiers[n]!);
    const hasEnded = end !== undefined && end >= dates[Math.max(0, t - GAP_SESSIONS_MAX)]! && end <= dates.at(-1)!;
    return hasEnded || dates.length - 1 - t > GAP_SESSIONS_MAX ? t : dates.length - 1;
  });
}

/**
 * Returns a function that checks if a security does not trade on a day. It returns true only if calendars show this.
 */
function createClosureCheck(
  { identifiers, reference: { columns, rows } }: MarketContent,
  codes: readonly string[],
  open: () => Calendars,
): (n: number, day: Day) => boolean {
  const column = columns.indexOf('EXCHANGE');
  const findExchange = (n: number): unknown =>
    column < 0
      ? undefined
      : rows.get(identifiers[n]!)?.findLast(({ values }) => values[column] !== null)?.values[column];
  const isClosed = (calendar: Calendar | undefined, day: Day): boolean =>
    calendar !== undefined && day >= calendar.coverage.from && day <= calendar.coverage.to && !calendar.isSession(day);
  return (n, day) => {
    const exchange = findExchange(n);
    const exchangeCodes = typeof exchange === 'string' ? [exchange] : codes;
    return exchangeCodes.some((code) => isClosed(open().get(code), day));
  };
}

function listFindings(partialDates: readonly PartialDate[]): Finding[] {
  const dateFindings = partialDates.slice(0, DATES_MAX).map(({ day, bars, missing }): Finding => {
    const listText = missing.slice(0, NAMES_LISTED_MAX).join(', ');
    return {
      severity: 'warning',
      code: 'PARTIAL_DATE',
      path: `market[${formatDay(day)}]`,
      message: `${bars} of ${bars + missing.length} securities have a bar on ${formatDay(day)}. ${missing.length} that traded shortly before have none (${listText}${missing.length > NAMES_LISTED_MAX ? ' and more' : ''}).`,
      count: missing.length,
      places: missing.slice(0, NAMES_MAX),
    };
  });
  const remainingPartialDates = partialDates.slice(DATES_MAX);
  if (remainingPartialDates.length === 0) return dateFindings;
  const bars = remainingPartialDates.reduce((sum, { missing }) => sum + missing.length, 0);
  const message = `${remainingPartialDates.length} earlier dates from ${formatDay(remainingPartialDates.at(-1)!.day)} to ${formatDay(remainingPartialDates[0]!.day)} have bars of only some securities. ${bars} bars are missing in total.`;
  return [
    ...dateFindings,
    { severity: 'warning', code: 'PARTIAL_DATE', path: 'market', message, count: remainingPartialDates.length },
  ];
}

/** Maximum number of days listed individually; further days are counted. */
const DAYS_MAX = 20;

/** Maximum number of securities and of days listed in one finding. */
const LISTED_MAX = 3;

/** Minimum number and share of days without a session at which a shift of all days is tested. */
const SHIFTED_DAYS_MIN = 2;
const SHIFTED_SHARE_MIN = 0.1;

/**
 * Describes a shift by one day if the days are sessions one day later or earlier. Days of another time zone are shifted
 * in this way.
 */
function describeShift(dates: readonly Day[], closedCount: number, calendars: readonly Calendar[]): string {
  if (closedCount < SHIFTED_DAYS_MIN || closedCount < SHIFTED_SHARE_MIN * dates.length) return '';
  const shift = [1, -1].find((by) => dates.every((day) => !isNoSession(day + by, calendars)));
  if (shift === undefined) return '';
  return ` Every date is a session one day ${shift > 0 ? 'later' : 'earlier'}: the dates are probably days of another time zone.`;
}

const WEEKDAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/**
 * Warns of bars on days that are not a session of any calendar in use: NOT_A_SESSION. The calendars in use are those of
 * the stored indices and of the reference column EXCHANGE. Days that none of them covers are ignored.
 * @param codes of the calendars of the stored indices
 * @param open opens the calendars of the service; called only if any calendar is in use
 * @cost one pass over the days, and over the bars of days without a session
 */
export function warnOfSessions(
  content: MarketContent,
  { codes, open }: { readonly codes: readonly string[]; readonly open: () => Calendars },
  problems: Problems,
): void {
  const exchangeCodes = [...new Set([...codes, ...collectExchanges(content)])];
  if (exchangeCodes.length === 0) return;
  const exchangeCalendars = open();
  const calendars = exchangeCodes.flatMap((code) => exchangeCalendars.get(code) ?? []);
  const days = [...content.dates]
    .flatMap((day, t) => (isNoSession(day, calendars) ? [{ day, names: listIdentifiers(content, t) }] : []))
    .filter(({ names }) => names.length > 0);
  const shiftText = describeShift([...content.dates], days.length, calendars);
  const usedCalendars = calendars
    .map(({ code }) => code)
    .toSorted()
    .join(', ');
  if (days.length > DAYS_MAX) {
    const listText = days
      .slice(0, LISTED_MAX)
      .map(({ day }) => formatDay(day))
      .join(', ');
    const bars = days.reduce((sum, { names }) => sum + names.length, 0);
    problems.warning({
      code: 'NOT_A_SESSION',
      path: 'market',
      message: `${bars} bars are on ${days.length} days that are not sessions of ${usedCalendars}: ${listText} and more. Indices with these calendars do not use them.${shiftText}`,
    });
    return;
  }
  for (const { day, names } of days) {
    const listText = names.length > LISTED_MAX ? `${names.slice(0, LISTED_MAX).join(', ')} and more` : names.join(', ');
    const message = `${names.length} ${names.length === 1 ? 'bar is' : 'bars are'} on ${formatDay(day)}, a ${WEEKDAY_NAMES[toWeekday(day)]}, which is not a session of ${usedCalendars}: ${listText}. Indices with these calendars do not use ${names.length === 1 ? 'it' : 'them'}.${shiftText}`;
    problems.warning({ code: 'NOT_A_SESSION', path: `market[${formatDay(day)}]`, message });
  }
}

function collectExchanges({ reference: { columns, rows } }: MarketContent): Set<string> {
  const column = columns.indexOf('EXCHANGE');
  const values = column < 0 ? [] : [...rows.values()].flatMap((spells) => spells.map((row) => row.values[column]));
  return new Set(values.filter((value) => typeof value === 'string'));
}

function isNoSession(day: Day, calendars: readonly Calendar[]): boolean {
  const coveringCalendars = calendars.filter(({ coverage }) => day >= coverage.from && day <= coverage.to);
  return coveringCalendars.length > 0 && coveringCalendars.every((calendar) => !calendar.isSession(day));
}

/** Returns the securities with a CLOSE in a row of the panels. */
function listIdentifiers({ identifiers, fields }: MarketContent, t: number): string[] {
  const close = fields.get('CLOSE')!;
  return identifiers.filter((_, n) => !Number.isNaN(close[t * identifiers.length + n]!));
}

/** Currency that neither ISO 4217 nor the store defines. */
interface UnknownCurrency {
  readonly identifier: string;
  readonly table: 'reference' | 'series';
  readonly currency: string;
  /** First day on which the currency applies. It is null if the data does not state it. */
  readonly from: string | null;
  readonly message: string;
}

/**
 * Returns currencies of securities and series that are unknown. Such a currency is neither an ISO 4217 code nor a minor
 * unit, and the store has no exchange rate for it.
 * @cost O(securities, series and reference rows)
 */
export function findUnknownCurrencies({ identifiers, reference, series }: MarketContent): UnknownCurrency[] {
  const names = [...identifiers, ...(series?.keys() ?? [])];
  const pairCurrencies = new Set(names.flatMap(listUnknownHalves));
  const results: UnknownCurrency[] = [];
  const checkCurrency = (currency: unknown, about: Pick<UnknownCurrency, 'identifier' | 'table' | 'from'>): void => {
    if (typeof currency !== 'string' || currency === '' || isCurrency(currency) || pairCurrencies.has(currency)) return;
    const fromText = about.from === null ? '' : ` from ${about.from}`;
    const suggestion = suggestName(currency, isCurrency(currency.toUpperCase()) ? [currency.toUpperCase()] : []);
    const message = `The CURRENCY of ${about.identifier}${fromText} is ${JSON.stringify(currency.slice(0, 80))}, which is not an ISO 4217 code, and the store has no exchange rate for it.${suggestion}`;
    results.push({ ...about, currency, message });
  };
  const column = reference.columns.indexOf('CURRENCY');
  if (column >= 0)
    for (const [identifier, rows] of reference.rows)
      for (const { validFrom, values } of rows)
        checkCurrency(values[column], {
          identifier,
          table: 'reference',
          from: validFrom === null ? null : formatDay(validFrom),
        });
  for (const { identifier, currency } of series?.values() ?? [])
    checkCurrency(currency, { identifier, table: 'series', from: null });
  return results;
}

function listUnknownHalves(name: string): string[] {
  const pair = parsePair(name);
  if (pair === undefined) return [];
  const [from, to] = pair;
  return isCurrency(from) ? [to] : isCurrency(to) ? [from] : [];
}
