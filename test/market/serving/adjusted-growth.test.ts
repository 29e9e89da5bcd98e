import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { parseValidDay } from '#domain/base/time.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { computeGrowth } from '#domain/market/growth.js';
import { addSpinOffValue, createReturnTerms } from '#domain/market/action-effects.js';
import { ACTION_KINDS, type Adjustment, type CorporateAction, type MarketData } from '#domain/market/market-data.js';
import { alignMarket } from '#domain/market/session-market.js';
import { compareActions } from '#market/content/action-rows.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { computePriceSeries } from '#market/serve/price-series.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';
import { generateTestMarket } from '../../synthetic-market.js';

const XNYS = openCalendars().get('XNYS')!;
/**
 * Growth terms of a holding that reinvests its payments in itself. Its growth is the definition of an adjusted close.
 */
const TERMS = createReturnTerms(
  TreatmentSpec.parse({ reinvestment: 'constituent', special_dividends: 'constituent', rights: 'constituent' }),
  'USD',
  'total',
);

/**
 * Compares the adjusted closes of every security with the growth of a holding, between consecutive bars and from the
 * first to the last. Other code computes this growth from other tables.
 * @returns the largest relative difference, and the number of compared steps
 */
function compareDisagreement(
  market: MarketData,
  adjust: 'splits' | 'total',
  calendar: Calendar,
  calendars: Calendars,
): { readonly worst: number; readonly steps: number } {
  // In a market without cash, rights and spin-offs, the growth by splits alone equals the growth by all actions.
  const actions =
    adjust === 'total'
      ? market.actions
      : market.actions.filter(
          ({ type }) => ACTION_KINDS[type] !== 'cash' && type !== 'RIGHTS_ISSUE' && type !== 'SPIN_OFF',
        );
  const sm = alignMarket({ market: { ...market, actions }, calendar, calendars });
  const growth = computeGrowth(sm, TERMS);
  let worst = 0;
  let steps = 0;
  market.identifiers.forEach((identifier, position) => {
    const { days, columns } = computePriceSeries(
      {
        dates: market.dates,
        fields: [...market.fields].map(([name, values]) => ({ name, values })),
        names: market.identifiers.length,
        position,
        actions: market.actions
          .filter((action) => action.identifier === identifier)
          .map((action) => addSpinOffValue(market, action)),
        adjustment: market.adjustment,
      },
      { start: null, end: null, interval: 'native', columns: ['CLOSE'], adjust },
    );
    const closes = columns[0]!.values;
    let previous = -1;
    let wholeGrowth = 1;
    let first = -1;
    for (let row = 0; row < days.length; row++) {
      if (Number.isNaN(closes[row])) continue;
      if (previous >= 0) {
        let grown = 1;
        for (let s = sm.sessionAt(days[previous]!) + 1; s <= sm.sessionAt(days[row]!); s++)
          grown *= growth[s * sm.securityCount + position]!;
        wholeGrowth *= grown;
        worst = Math.max(
          worst,
          Math.abs(closes[row]! / closes[previous]! / grown - 1),
          Math.abs(closes[row]! / closes[first]! / wholeGrowth - 1),
        );
        steps += 1;
      } else first = row;
      previous = row;
    }
  });
  return { worst, steps };
}

describe('adjusted closes grow as a holding does, to 1e-12 from bar to bar and from first to last', () => {
  const content = generateTestMarket({
    seed: 3,
    assets: 40,
    sessions: XNYS.sessions.slice(-1000),
    sectors: 5,
    specific_volatility: 0.3,
    dividend_yield: 0.04,
    splits_per_year: 0.6,
    delistings_per_year: 0.1,
    listings_per_year: 0.2,
    missing_rate: 0.1,
  });

  test.each(['splits', 'total'] as const)(
    '%s, in a synthetic market with every kind of action and a tenth of its bars missing',
    (adjust) => {
      for (const adjustment of ['none', 'splits', 'total'] as const) {
        const { worst, steps } = compareDisagreement(
          { datasetId: 's', contentHash: 'h', adjustment, ...content },
          adjust,
          XNYS,
          openCalendars(),
        );
        expect(steps).toBeGreaterThan(20_000);
        expect(worst, adjustment).toBeLessThan(1e-12);
      }
    },
  );

  test('with any action on any day, with and without bars', () => {
    const from = parseValidDay('2024-01-01');
    const days = Int32Array.from({ length: 14 }, (_, t) => from + t);
    const heldDays = new Set(days);
    const calendar: Calendar = {
      code: 'DAILY',
      name: 'Daily',
      region: 'UTC',
      tz: 'UTC',
      coverage: { from, publishedTo: from + 13, to: from + 13 },
      sessions: days,
      isSession: (day) => heldDays.has(day),
    };
    const calendars: Calendars = { list: () => [calendar], get: (code) => (code === 'DAILY' ? calendar : undefined) };
    const happening = fc.record({
      type: fc.constantFrom(
        'SPLIT',
        'STOCK_DIVIDEND',
        'BONUS_ISSUE',
        'DIVIDEND',
        'SPECIAL_DIVIDEND',
        'RETURN_OF_CAPITAL',
        'RIGHTS_ISSUE' as const,
      ),
      value: fc.double({ min: 0.1, max: 3, noNaN: true }),
      at: fc.integer({ min: -2, max: 15 }),
      cancelled: fc.boolean(),
      subscription: fc.double({ min: 0.5, max: 20, noNaN: true }),
    });
    const price = fc.option(fc.double({ min: 5, max: 500, noNaN: true }), { freq: 4 });
    fc.assert(
      fc.property(
        fc.array(price, { minLength: 28, maxLength: 28 }),
        fc.array(fc.tuple(fc.nat(1), happening), { maxLength: 10 }),
        fc.constantFrom<Adjustment>('none', 'splits', 'total'),
        fc.constantFrom('splits', 'total' as const),
        (prices, happenings, adjustment, adjust) => {
          const close = allocateEmptyPanel(28);
          prices.forEach((value, cell) => (close[cell] = value ?? Number.NaN));
          close[0] = 100;
          close[27] = 50;
          const rights = new Set<string>();
          const actions = happenings
            .flatMap(([n, { type, value, at, cancelled, subscription }]): CorporateAction[] => {
              // Keeps one rights issue per security and day. The value of a share without the right depends on a single
              // issue.
              if (type === 'RIGHTS_ISSUE' && rights.has(`${n} ${at}`)) return [];
              rights.add(`${n} ${at}`);
              return [
                {
                  identifier: n === 0 ? 'A' : 'B',
                  type: type as CorporateAction['type'],
                  value,
                  exDay: from + at,
                  payDay: null,
                  status: cancelled ? 'cancelled' : 'paid',
                  announcedDay: null,
                  related: null,
                  subscriptionPrice: type === 'RIGHTS_ISSUE' ? subscription : null,
                },
              ];
            })
            .sort(compareActions);
          const market: MarketData = {
            datasetId: 's',
            contentHash: 'h',
            adjustment,
            identifiers: ['A', 'B'],
            dates: days,
            fields: new Map([['CLOSE', close]]),
            ...NO_TABLES,
            actions,
          };
          expect(compareDisagreement(market, adjust, calendar, calendars).worst).toBeLessThan(1e-12);
        },
      ),
      { numRuns: 300 },
    );
  });
});
