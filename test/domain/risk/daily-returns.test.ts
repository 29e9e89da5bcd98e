import { describe, expect, test } from 'vitest';
import { createDaysCalendar } from '#domain/calendars/calendar.js';
import { computeGrowth } from '#domain/market/growth.js';
import { addSpinOffValue, createSecurityTerms, type GrowthTerms } from '#domain/market/action-effects.js';
import { type ActionType, type CorporateAction, type MarketData, narrowMarket } from '#domain/market/market-data.js';
import { alignMarket } from '#domain/market/session-market.js';
import {
  computeDailyReturns,
  createReturnSource,
  type DailySecurities,
  type ReturnSource,
} from '#domain/risk/return-panel.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { fc } from '../../fast-check.js';
import { IS_SOAK } from '../../soak.js';
import { NO_TABLES } from '../backtest/market-builder.js';

const TERMS = createSecurityTerms('total', '');
const DAYS = 130;
const NAMES = 5;
const FIRST_DAY = 15_000;
const TYPES: readonly ActionType[] = [
  'DIVIDEND',
  'DIVIDEND',
  'SPECIAL_DIVIDEND',
  'SPLIT',
  'RIGHTS_ISSUE',
  'SPIN_OFF',
  'DELISTING',
];
const calendars = { list: () => [], get: () => undefined };

function createAction(identifier: string, type: ActionType, exDay: number, value: number): CorporateAction {
  const noDetails = { payDay: null, status: null, announcedDay: null, related: type === 'SPIN_OFF' ? 'N2' : null };
  return { identifier, type, exDay, value, ...noDetails, subscriptionPrice: type === 'RIGHTS_ISSUE' ? 20 : null };
}

function createMarket(close: Float64Array, actions: readonly CorporateAction[]): MarketData {
  return {
    datasetId: 'daily',
    contentHash: '',
    adjustment: 'none',
    identifiers: Array.from({ length: NAMES }, (_, i) => `N${i}`),
    dates: Int32Array.from({ length: close.length / NAMES }, (_, t) => FIRST_DAY + 2 * t),
    fields: new Map([['CLOSE', close]]),
    ...NO_TABLES,
    actions,
  };
}

/** Returns a market with gaps, late listings and early ends. Corporate actions fall on days with and without prices. */
function createRandomMarket(seed: number, gaps: number): MarketData {
  const random = createCounterRandom({ seed, stream: 0 });
  const drawUpTo = (end: number): number => Math.floor(end * random.uniform());
  const close = new Float64Array(DAYS * NAMES).fill(50);
  for (let i = NAMES; i < close.length; i++) close[i] = close[i - NAMES]! * (1 + 0.01 * random.normal());
  for (let gap = 0; gap < gaps; gap++) {
    const [name, from] = [drawUpTo(NAMES), drawUpTo(DAYS)];
    for (let t = from; t < Math.min(DAYS, from + 1 + drawUpTo(3)); t++) close[t * NAMES + name] = Number.NaN;
  }
  for (let t = 0; t < drawUpTo(6); t++) close[t * NAMES + 1] = close[(DAYS - 1 - t) * NAMES + 2] = Number.NaN;
  const actions = Array.from({ length: NAMES }, (_, i) =>
    Array.from({ length: drawUpTo(12) }, () =>
      createAction(
        `N${i}`,
        TYPES[drawUpTo(TYPES.length)]!,
        FIRST_DAY - 5 + drawUpTo(2 * DAYS + 10),
        0.5 + random.uniform(),
      ),
    ).toSorted((a, b) => a.exDay - b.exDay),
  ).flat();
  return createMarket(close, actions);
}

/**
 * Returns daily returns that are computed step by step: the market is reduced to the securities, aligned to sessions,
 * and converted to growth.
 */
function alignReturns(market: MarketData, { columns, from, to }: DailySecurities, terms: GrowthTerms): ReturnSource {
  const ascendingColumns = Int32Array.from(columns).toSorted();
  const actions = market.actions.map((action) => addSpinOffValue(market, action));
  const narrow = narrowMarket({ ...market, actions }, { columns: ascendingColumns, from, to });
  const sm = alignMarket({ market: narrow, calendar: createDaysCalendar(narrow.dates), calendars });
  const request = Array.from(columns, (column) => sm.columnOf(market.identifiers[column]!));
  return createReturnSource({ sm, growth: computeGrowth(sm, terms), from: 0, to: sm.sessions.length - 1 }, request);
}

function describeSource({ sm, coverage, read }: ReturnSource): unknown {
  const { columns, sessions, longest, excluded } = coverage;
  const returns = new Float64Array(columns.length * sessions.length);
  read(returns, { selectColumns: select });
  const readIdentifier = (column: number): string => sm.identifiers[column]!;
  return {
    names: Array.from(columns, readIdentifier),
    days: Array.from(sessions, (session) => sm.sessions[session]),
    longest,
    excluded: [...excluded].map(([column, why]) => [readIdentifier(column), why]),
    returns,
  };
}

/** Selects columns of a matrix and subtracts a constant. Every engine does the same. */
const select: Parameters<ReturnSource['read']>[1]['selectColumns'] = (x, { width, columns, less }, out) => {
  const n = columns.length;
  out.forEach((_, i) => (out[i] = x[Math.floor(i / n) * width + columns[i % n]!]! - less));
};

describe('daily returns', () => {
  test('are bit-identical to the returns of the aligned market of the securities', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(40),
        fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 1 }),
        fc.constantFrom<Partial<GrowthTerms>>({}, { variant: 'price' }, { splits: 'ignore' } as Partial<GrowthTerms>),
        fc.boolean(),
        fc.boolean(),
        (seed, gaps, columns, terms, isCut, isAskedBefore) => {
          const market = createRandomMarket(seed, gaps);
          const window = isCut ? { from: FIRST_DAY + 9, to: FIRST_DAY + 2 * DAYS - 20 } : { from: null, to: null };
          const returnTerms = { ...TERMS, ...terms };
          const names = { columns, ...window };
          if (isAskedBefore) computeDailyReturns(market, { columns: [4, 2, 3, 1, 0], from: null, to: null }, TERMS);
          expect(describeSource(computeDailyReturns(market, names, returnTerms))).toEqual(
            describeSource(alignReturns(market, names, returnTerms)),
          );
        },
      ),
      { numRuns: IS_SOAK ? 1000 : 100 },
    );
  });

  test('reinvest a dividend and a split that fall on one session', () => {
    const close = new Float64Array(80 * NAMES).fill(100);
    close.fill(50, 40 * NAMES);
    const day = FIRST_DAY + 2 * 40;
    const market = createMarket(close, [createAction('N0', 'DIVIDEND', day, 1), createAction('N0', 'SPLIT', day, 2)]);
    const { coverage, read } = computeDailyReturns(market, { columns: [0, 1], from: null, to: null }, TERMS);
    const returns = new Float64Array(79 * 2);
    read(returns, { selectColumns: select });
    const offset = 2 * coverage.sessions.indexOf(40);
    expect(returns[offset]).toBeCloseTo((2 * (50 + 1)) / 100 - 1, 15);
    expect(returns[offset + 1]).toBe(-0.5);
  });

  /** Returns the return of N0 on session 40, at which its close goes from 100 to `close`. */
  function readReturn(close: number, actions: readonly CorporateAction[], members: Partial<MarketData> = {}): number {
    const closes = new Float64Array(80 * NAMES).fill(100);
    for (let t = 40; t < 80; t++) closes[t * NAMES] = close;
    const market = { ...createMarket(closes, actions), ...members };
    const { coverage, read } = computeDailyReturns(market, { columns: [0, 1], from: null, to: null }, TERMS);
    const returns = new Float64Array(79 * 2);
    read(returns, { selectColumns: select });
    return returns[2 * coverage.sessions.indexOf(40)]!;
  }

  const DAY = FIRST_DAY + 2 * 40;

  test('pay a dividend of the day of a rights issue on the shares before it', () => {
    // A share at 100 pays 10 and becomes two shares at (100 + 20) / 2. The return is that of the 10.
    const actions = [createAction('N0', 'DIVIDEND', DAY, 10), createAction('N0', 'RIGHTS_ISSUE', DAY, 1)];
    expect(readReturn(60, actions)).toBeCloseTo(0.1, 14);
  });

  /** N0 is quoted in EUR, and from session 40 on in USD. The last rate before it is 1.25. */
  const inDollars: Partial<MarketData> = {
    reference: {
      columns: ['CURRENCY'],
      rows: new Map([
        [
          'N0',
          [
            { validFrom: null, values: ['EUR'] },
            { validFrom: DAY, values: ['USD'] },
          ],
        ],
      ]),
    },
    series: new Map([
      [
        'EURUSD',
        {
          identifier: 'EURUSD',
          name: null,
          currency: null,
          days: Int32Array.of(FIRST_DAY, DAY),
          closes: Float64Array.of(1.25, 2),
        },
      ],
    ]),
  };

  test('convert the previous close on the day of a change of currency', () => {
    expect(readReturn(125, [], inDollars)).toBeCloseTo(0, 15);
    expect(readReturn(115, [createAction('N0', 'SPECIAL_DIVIDEND', DAY, 10)], inDollars)).toBeCloseTo(0, 14);
  });

  test('are refused without a rate on the day before a change of currency', () => {
    expect(() => readReturn(125, [], { ...inDollars, series: new Map() })).toThrow(
      expect.objectContaining({ code: 'FX_MISSING', detail: { identifier: 'N0', pair: 'EURUSD' } }),
    );
  });
});
