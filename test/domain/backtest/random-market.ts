import { fc } from '../../fast-check.js';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import type { ActionType, Adjustment, MarketData } from '#domain/market/market-data.js';
import { buildMarket, type ActionSketch } from './market-builder.js';

/** Small market with every kind of corporate action, gaps, late listings, two exchanges and two currencies. */
export interface RandomMarket {
  readonly market: MarketData;
  readonly dates: readonly string[];
}

export const FIRST_DAY = '2023-12-25';
export const HOLIDAYS = ['2024-01-15', '2024-02-05', '2024-02-06'];
export const OTHER_HOLIDAYS = ['2024-01-08', '2024-01-22', '2024-01-23', '2024-02-12'];

const NAMES = ['AA', 'BB', 'CC', 'DD', 'EE', 'FF', 'GG', 'HH', 'KID', 'NEW'];
/** Securities that trade in euros on the second exchange. */
const FOREIGN = new Set(['EE', 'GG']);

interface MarketChoices {
  readonly sessions: number;
  readonly steps: readonly number[];
  readonly gaps: readonly number[];
  readonly actions: readonly {
    readonly name: number;
    readonly type: ActionType;
    readonly at: number;
    readonly size: number;
  }[];
  readonly listings: readonly number[];
  readonly endings: readonly number[];
  readonly adjustment: Adjustment;
}

const TYPES: readonly ActionType[] = [
  'DIVIDEND',
  'SPECIAL_DIVIDEND',
  'RETURN_OF_CAPITAL',
  'SPLIT',
  'STOCK_DIVIDEND',
  'BONUS_ISSUE',
  'RIGHTS_ISSUE',
  'SPIN_OFF',
  'MERGER',
  'ACQUISITION',
  'DELISTING',
  'TICKER_CHANGE',
];

export const randomMarket = createRandomMarketOver(fc.integer({ min: 25, max: 50 }));

/**
 * Returns random markets with a random number of sessions.
 * @param sessions at most 130, the length of the test calendars
 */
export function createRandomMarketOver(sessions: fc.Arbitrary<number>): fc.Arbitrary<RandomMarket> {
  return fc
    .record<MarketChoices>({
      sessions,
      steps: fc.array(fc.integer({ min: -60, max: 60 }), { minLength: 500, maxLength: 500 }),
      gaps: fc.array(fc.nat(499), { maxLength: 40 }),
      actions: fc.array(
        fc.record({
          name: fc.nat(7),
          type: fc.constantFrom(...TYPES),
          at: fc.integer({ min: 1, max: 60 }),
          size: fc.integer({ min: 0, max: 8 }),
        }),
        { maxLength: 14 },
      ),
      listings: fc.array(fc.integer({ min: 0, max: 20 }), { minLength: NAMES.length, maxLength: NAMES.length }),
      endings: fc.array(fc.integer({ min: 5, max: 70 }), { minLength: NAMES.length, maxLength: NAMES.length }),
      adjustment: fc.constantFrom('none', 'none', 'none', 'splits', 'total'),
    })
    .map(sketch);
}

function sketch({ sessions, steps, gaps, actions, listings, endings, adjustment }: MarketChoices): RandomMarket {
  const closedDates = new Set(HOLIDAYS);
  const dates: string[] = [];
  for (let day = parseValidDay(FIRST_DAY); dates.length < sessions; day++) {
    const date = formatDay(day);
    if (toWeekday(day) < 5 && !closedDates.has(date)) dates.push(date);
  }
  const missing = new Set(gaps);
  const close: Record<string, (number | null)[]> = {};
  const shares: Record<string, number[]> = {};
  const foreignHolidays = new Set(OTHER_HOLIDAYS);
  NAMES.forEach((name, n) => {
    let price = 20 + 13 * n;
    // The first three securities have prices throughout, so that the index is never empty.
    const isSteady = n < 3;
    const from = isSteady ? 0 : listings[n]!;
    const to = isSteady ? sessions : endings[n]!;
    close[name] = dates.map((date, t) => {
      price *= 1 + steps[(t * NAMES.length + n) % steps.length]! / 1000;
      const isGap =
        (!isSteady && missing.has((t * NAMES.length + n) % 500)) || (FOREIGN.has(name) && foreignHolidays.has(date));
      return t < from || t >= to || isGap ? null : Math.round(price * 100) / 100;
    });
    shares[name] = dates.map(() => 1000 * (n + 1));
  });
  close['EURUSD'] = dates.map((_, t) => (t % 7 === 3 ? null : 1.1 + 0.001 * steps[t % steps.length]!));
  const placedActions = actions.map(({ name, type, at, size }): ActionSketch =>
    toAction(NAMES[name]!, type, { ex: formatDateAt(at), size }),
  );
  return {
    dates,
    market: buildMarket({
      dates,
      close,
      fields: { SHARES_OUTSTANDING: shares },
      actions: placedActions,
      adjustment,
      reference: Object.fromEntries(
        NAMES.map((name) => [
          name,
          {
            CURRENCY: FOREIGN.has(name) ? 'EUR' : 'USD',
            EXCHANGE: FOREIGN.has(name) ? 'OTHER' : 'MAIN',
            SECTOR: name < 'DD' ? 'S1' : 'S2',
          },
        ]),
      ),
    }),
  };
}

/** Returns the calendar day after a number of days, which may be a weekend. */
function formatDateAt(days: number): string {
  return formatDay(parseValidDay(FIRST_DAY) + days);
}

function toAction(
  name: string,
  type: ActionType,
  { ex, size }: { readonly ex: string; readonly size: number },
): ActionSketch {
  switch (type) {
    case 'SPLIT':
    case 'STOCK_DIVIDEND':
    case 'BONUS_ISSUE':
      return { name, type, value: [0.1, 0.5, 1.05, 1.5, 2, 3, 4, 10, 1.25][size]!, ex };
    case 'RIGHTS_ISSUE':
      return size % 3 === 0 ? { name, type, value: 0.2, ex } : { name, type, value: 0.1 * size, ex, subscription: 10 };
    case 'SPIN_OFF':
      return {
        name,
        type,
        value: 0.1 * (size + 1),
        ex,
        related: size % 4 === 0 ? 'ABSENT' : size % 4 === 1 ? 'KID' : 'NEW',
      };
    case 'MERGER':
      return {
        name,
        type,
        value: 0.2 * (size + 1),
        ex,
        related: size % 3 === 0 ? 'AA' : size % 3 === 1 ? 'NEW' : 'ABSENT',
        ...(size % 2 === 0 ? {} : { cash: 3 * size }),
      };
    case 'TICKER_CHANGE':
      return { name, type, value: 1, ex, related: size % 2 === 0 ? 'NEW' : 'KID' };
    case 'ACQUISITION':
    case 'DELISTING':
      return { name, type, ex, ...(size % 2 === 0 ? { value: 0, isUnpriced: true } : { value: 5 * size }) };
    default:
      return { name, type, value: 0.25 * size, ex, cancelled: size === 7 };
  }
}
