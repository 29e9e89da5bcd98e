import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { formatDay, type Day } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import { callOnce } from '#base/once.js';
import type { MarketContent } from './market-content.js';
import { ENDING_ACTIONS, GAP_SESSIONS_MAX } from './market-warnings.js';

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

/** Returns true if every security has a close in a row. */
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
