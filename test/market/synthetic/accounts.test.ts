import { describe, expect, test } from 'vitest';
import { formatDay, parseValidDay, toCivilDate } from '#domain/base/time.js';
import { ACTION_KINDS, type ReferenceValue } from '#domain/market/market-data.js';
import { alignMarket } from '#domain/market/session-market.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/base/numbers.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import type { MarketContent } from '#market/content/market-content.js';
import { generateMarket } from '#market/synthetic/generate-market.js';
import type { SyntheticSpec } from '#market/synthetic/factors.js';
import { createDeciderOf } from '../../domain/rules/rule-market.js';
import { createSpec } from '../../synthetic-market.js';

const calendars = openCalendars();
const calendar = calendars.get('XNYS')!;
const SESSIONS = calendar.sessions.slice(
  findFirstAtLeast(calendar.sessions, parseValidDay('2008-01-01')),
  findLastAtMost(calendar.sessions, parseValidDay('2017-12-31')) + 1,
);

const SPEC: SyntheticSpec = createSpec({
  seed: 7,
  assets: 150,
  sessions: SESSIONS,
  sectors: 8,
  dividend_yield: 0.02,
  splits_per_year: 0.1,
  delistings_per_year: 0.03,
  listings_per_year: 0.05,
});
const market = generateMarket(SPEC, () => {});
const NAMES = market.identifiers.length;
const close = market.fields.get('CLOSE')!;
const shares = market.fields.get('SHARES_OUTSTANDING')!;

interface Account {
  readonly identifier: string;
  readonly validFrom: number;
  readonly periodEnd: number;
  readonly published: number;
  readonly sales: number;
  readonly earnings: number;
  readonly dividends: number;
  readonly book: number;
  readonly earningsYield: number;
  readonly bookToPrice: number;
  readonly returnOnEquity: ReferenceValue;
}

/**
 * Returns the company reports of a market by security, in the order of publication. It omits the row of a delisting,
 * which repeats the last report.
 */
function readAccounts({ reference }: MarketContent): Map<string, Account[]> {
  const findReferenceValue = (values: readonly ReferenceValue[], column: string) =>
    values[reference.columns.indexOf(column)] ?? null;
  return new Map(
    [...reference.rows].map(([identifier, rows]) => [
      identifier,
      rows
        .filter(
          ({ values }) =>
            findReferenceValue(values, 'PUBLISHED') !== null && findReferenceValue(values, 'DELISTED') === null,
        )
        .map(({ validFrom, values }) => ({
          identifier,
          validFrom: validFrom!,
          periodEnd: parseValidDay(String(findReferenceValue(values, 'FISCAL_PERIOD_END'))),
          published: parseValidDay(String(findReferenceValue(values, 'PUBLISHED'))),
          sales: Number(findReferenceValue(values, 'SALES')),
          earnings: Number(findReferenceValue(values, 'EARNINGS')),
          dividends: Number(findReferenceValue(values, 'DIVIDENDS')),
          book: Number(findReferenceValue(values, 'BOOK_VALUE')),
          earningsYield: Number(findReferenceValue(values, 'EARNINGS_YIELD')),
          bookToPrice: Number(findReferenceValue(values, 'BOOK_TO_PRICE')),
          returnOnEquity: findReferenceValue(values, 'RETURN_ON_EQUITY'),
        })),
    ]),
  );
}
const accounts = readAccounts(market);
const allAccounts = [...accounts.values()].flat();

const ratios = new Map(
  market.actions
    .filter(({ type }) => ACTION_KINDS[type] === 'ratio')
    .map(({ identifier, exDay, value }) => [`${identifier} ${exDay}`, value]),
);
const listingDates = new Map(market.universes.map(({ identifier, start }) => [identifier, start!]));

describe('the accounts of a synthetic market', () => {
  test('are known from their publication on, six weeks to three months after the end of a fiscal year', () => {
    expect(allAccounts.length).toBeGreaterThan(1000);
    for (const { identifier, validFrom, periodEnd, published } of allAccounts) {
      expect(validFrom).toBe(published);
      const lag = published - periodEnd;
      expect(lag).toBeGreaterThanOrEqual(40);
      // A prospectus may describe a year that ended fourteen months earlier. Later reports are more recent.
      if (published > listingDates.get(identifier)! + 100) expect(lag).toBeLessThanOrEqual(93);
      expect(toCivilDate(periodEnd + 1).day).toBe(1);
    }
  });

  test('come one fiscal year after the other, with nothing known of any before the first', () => {
    for (const [identifier, reports] of accounts) {
      reports.slice(1).forEach((report, i) => {
        const [was, is] = [toCivilDate(reports[i]!.periodEnd + 1), toCivilDate(report.periodEnd + 1)];
        expect([is.year, is.month], identifier).toEqual([was.year + 1, was.month]);
        expect(report.published).toBeGreaterThan(reports[i]!.published);
      });
      const before = market.reference.rows.get(identifier)![0]!;
      expect(before.validFrom).toBeNull();
      for (const column of [
        'FISCAL_PERIOD_END',
        'PUBLISHED',
        'SALES',
        'EARNINGS',
        'DIVIDENDS',
        'BOOK_VALUE',
        'EARNINGS_YIELD',
        'BOOK_TO_PRICE',
        'RETURN_ON_EQUITY',
      ]) {
        expect(before.values[market.reference.columns.indexOf(column)]).toBeNull();
      }
    }
  });

  test('are known for every security on its first session', () => {
    for (const [identifier, [first]] of accounts)
      expect(first?.published, identifier).toBeLessThanOrEqual(listingDates.get(identifier)!);
  });

  test('of a market that ends earlier are those published until then', () => {
    const earlierAccounts = readAccounts(generateMarket({ ...SPEC, sessions: SESSIONS.slice(0, 1300) }, () => {}));
    const lastDay = SESSIONS[1299]!;
    for (const [identifier, reports] of earlierAccounts)
      expect(reports).toEqual(accounts.get(identifier)!.filter(({ published }) => published <= lastDay));
  });

  test('pay out what the shares were paid in the year', () => {
    let checkedCount = 0;
    for (const { identifier, periodEnd, dividends } of allAccounts) {
      const yearStart = periodEnd - 366;
      if (yearStart < listingDates.get(identifier)!) continue;
      const n = market.identifiers.indexOf(identifier);
      const yearBefore = accounts
        .get(identifier)!
        .find((report) => report.periodEnd < periodEnd && report.periodEnd >= yearStart - 1);
      const paid = market.actions
        .filter(
          (action) =>
            action.identifier === identifier &&
            ACTION_KINDS[action.type] === 'cash' &&
            action.exDay > yearBefore!.periodEnd &&
            action.exDay <= periodEnd,
        )
        .reduce((sum, { value, exDay }) => sum + value * computeSharesAtOpen(n, exDay), 0);
      expect(Math.abs(dividends - paid), `${identifier} ${formatDay(periodEnd)}`).toBeLessThanOrEqual(
        500 + 1e-9 * paid,
      ); // rounded to whole thousands
      checkedCount += paid > 0 ? 1 : 0;
    }
    expect(checkedCount).toBeGreaterThan(500);
  });

  test('have a book that grows by earnings and new shares less dividends', () => {
    const spunOff = new Set(
      market.actions.filter(({ type }) => type === 'SPIN_OFF').map(({ identifier }) => identifier),
    );
    let checkedCount = 0;
    for (const [identifier, reports] of accounts) {
      if (spunOff.has(identifier)) continue;
      const n = market.identifiers.indexOf(identifier);
      reports.slice(1).forEach(({ periodEnd, book, earnings, dividends }, i) => {
        const before = reports[i]!;
        if (before.periodEnd < listingDates.get(identifier)!) return;
        const [from, to] = [findFirstAtLeast(SESSIONS, before.periodEnd + 1), findLastAtMost(SESSIONS, periodEnd)];
        let issuedCount = 0;
        let rounding = 2000; // four amounts, each in whole thousands
        for (let t = from; t <= to; t++) {
          const issuedShares = shares[t * NAMES + n]! - computeSharesAtOpen(n, SESSIONS[t]!);
          issuedCount += issuedShares * close[t * NAMES + n]!;
          rounding += Math.abs(issuedShares) * 0.005; // Closes are whole cents; the prices behind the accounts are not.
        }
        expect(
          Math.abs(book - before.book - (earnings - dividends + issuedCount)),
          `${identifier} ${formatDay(periodEnd)}`,
        ).toBeLessThanOrEqual(rounding);
        checkedCount += 1;
      });
    }
    expect(checkedCount).toBeGreaterThan(700);
  });

  test('are of the size that the value of the shares, the sectors and a few bad years make them', () => {
    const findMiddle = (values: readonly number[]) => values.toSorted((a, b) => a - b)[values.length >> 1]!;
    // The centre of each sector is between 12 and 24 times earnings and between 1.2 and 4 times book value. Each
    // company is within a third of the centre of its sector.
    const yields = allAccounts.map(({ earningsYield }) => earningsYield);
    expect(1 / findMiddle(yields)).toBeGreaterThan(12);
    expect(1 / findMiddle(yields)).toBeLessThan(24);
    expect(1 / findMiddle(allAccounts.map(({ bookToPrice }) => bookToPrice))).toBeGreaterThan(1.2);
    expect(1 / findMiddle(allAccounts.map(({ bookToPrice }) => bookToPrice))).toBeLessThan(4);
    const margins = allAccounts.map(({ earnings, sales }) => earnings / sales);
    expect(findMiddle(margins)).toBeGreaterThan(0.06);
    expect(findMiddle(margins)).toBeLessThan(0.2);
    expect(Math.min(...allAccounts.map(({ sales }) => sales))).toBeGreaterThan(0);
    const losses = yields.filter((value) => value < 0).length / yields.length;
    expect(losses).toBeGreaterThan(0.005);
    expect(losses).toBeLessThan(0.15);
    // Seven of ten securities pay dividends, with an overall yield of 2 %.
    const payout =
      allAccounts.reduce((sum, { dividends }) => sum + dividends, 0) /
      allAccounts.reduce((sum, { earnings }) => sum + earnings, 0);
    expect(payout).toBeGreaterThan(0.2);
    expect(payout).toBeLessThan(0.6);
  });

  test('have ratios that are those of their amounts to the value of the shares at the end of the year', () => {
    let checkedCount = 0;
    for (const { identifier, periodEnd, earnings, book, earningsYield, bookToPrice, returnOnEquity } of allAccounts) {
      expect(returnOnEquity === null ? book <= 0 : Math.abs(Number(returnOnEquity) - earnings / book) <= 1e-6).toBe(
        true,
      );
      if (periodEnd < listingDates.get(identifier)!) continue;
      const cell = findLastAtMost(SESSIONS, periodEnd) * NAMES + market.identifiers.indexOf(identifier);
      const marketCap = close[cell]! * shares[cell]!;
      // The close is rounded by up to half a cent.
      expect(Math.abs(earningsYield - earnings / marketCap)).toBeLessThanOrEqual(
        1e-6 + (0.006 / close[cell]!) * Math.abs(earningsYield),
      );
      expect(Math.abs(bookToPrice - book / marketCap)).toBeLessThanOrEqual(
        1e-6 + (0.006 / close[cell]!) * Math.abs(bookToPrice),
      );
      checkedCount += 1;
    }
    expect(checkedCount).toBeGreaterThan(700);
  });

  test('are chosen by a rule as they were published on its day and no later', () => {
    const sm = alignMarket({
      market: { datasetId: 's', contentHash: 'h', adjustment: 'none', ...market },
      calendar,
      calendars,
    });
    const listListedColumns = (session: number) =>
      Int32Array.from(sm.identifiers.keys()).filter((column) => sm.isPriceable(session, column, 5));
    // The season in which most reports are published, one session at a time.
    const from = sm.sessionAt(parseValidDay('2013-02-01'));
    let changes = 0;
    let previous = '';
    for (let session = from; session < from + 70; session++) {
      const pipeline = {
        selection: [{ id: 'best', type: 'TopN', params: { field: 'EARNINGS', count: 10 } }],
        weighting: { type: 'EqualWeight' },
      };
      const decision = createDeciderOf(sm, pipeline).decide(session, null);
      if (decision.kind !== 'decided') throw new Error(decision.finding.message);
      const day = sm.sessions[session]!;
      const expected = [...listListedColumns(session)]
        .map((column) => ({
          column,
          report: accounts.get(sm.identifiers[column]!)!.findLast(({ published }) => published <= day),
        }))
        .filter(({ report }) => report !== undefined)
        .toSorted((a, b) => b.report!.earnings - a.report!.earnings || a.column - b.column)
        .slice(0, 10)
        .map(({ column }) => column)
        .toSorted((a, b) => a - b);
      expect([...decision.columns], formatDay(day)).toEqual(expected);
      if (previous !== '' && previous !== expected.join()) changes += 1;
      previous = expected.join();
    }
    expect(changes).toBeGreaterThan(2);
  });
});

/**
 * Returns the shares of a session before its issues and buybacks. They are the shares of the previous session,
 * multiplied by the splits of the session.
 */
function computeSharesAtOpen(n: number, day: number): number {
  const t = findLastAtMost(SESSIONS, day);
  const sharesBefore = shares[(t - 1) * NAMES + n]!;
  if (!(sharesBefore > 0)) return shares[t * NAMES + n]!;
  return Math.round(sharesBefore * (ratios.get(`${market.identifiers[n]} ${day}`) ?? 1));
}
