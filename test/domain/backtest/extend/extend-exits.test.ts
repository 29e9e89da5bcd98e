import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { CALENDARS, listWeekdays } from '../../index-mathematics/index-case.js';
import { buildMarket, type MarketSketch } from '../market-builder.js';
import { createTally, expectResumes } from './growing-run.js';

interface ExtensionCase extends Omit<MarketSketch, 'dates'> {
  readonly universe: readonly string[];
  /** Members of the index document in addition to its universe. */
  readonly document: object;
  /** Number of sessions of the stored run; all further sessions are new. */
  readonly rows: number;
  readonly costBps?: number;
  /** Row of the first date of the run. Default: 0. */
  readonly startRow?: number;
}

/** Extends a run once and returns the tally. */
function extendCase({ universe, document: others, rows, costBps = 0, startRow = 0, ...sketch }: ExtensionCase) {
  const sessionCount = Object.values(sketch.close)[0]!.length;
  const dates = listWeekdays(sessionCount);
  const document = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: dates[0],
    universe: { kind: 'list', identifiers: universe },
    rebalance: { frequency: 'none' },
    ...others,
  });
  const tally = createTally();
  expectResumes({
    market: buildMarket({ dates, ...sketch }),
    document,
    request: { start: dates[startRow]!, transaction_cost_bps: costBps, createDecider: indexDecider },
    rows,
    steps: [sessionCount - rows],
    tally,
    calendars: CALENDARS,
  });
  return tally;
}

/** Price on the sessions from `first` up to, but not including, `end`. */
const createPrices = (price: number, { first = 0, end = 10 } = {}) =>
  Array.from({ length: 10 }, (_, t) => (t >= first && t < end ? price : null));

test('a security that enters does not change earlier payments of the portfolio by its earlier spin-off', () => {
  const [, afterFirst, , afterThird] = listWeekdays(4);
  const tally = extendCase({
    close: {
      A: createPrices(100),
      B: createPrices(100),
      C: createPrices(100, { end: 4 }),
      P: createPrices(100, { first: 8 }),
    },
    universe: ['A', 'B', 'C', 'P'],
    actions: [
      { name: 'P', type: 'SPIN_OFF', value: 1, related: 'KID', ex: afterFirst! },
      { name: 'C', type: 'ACQUISITION', value: 100, ex: afterThird! },
    ],
    document: {
      rebalance: { frequency: 'weekly' },
      pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'EqualWeight' } },
    },
    rows: 6,
    costBps: 100,
  });
  expect(tally).toMatchObject({ extended: 1, joined: 1, reasons: {} });
});

test.each([0, 3])(
  'an acquirer that is sold on the close of the merger is a security of a run from row %i',
  (startRow) => {
    const tally = extendCase({
      close: { A: createPrices(100, { end: 6 }), B: createPrices(100), M: createPrices(100) },
      universe: ['A', 'B'],
      actions: [{ name: 'A', type: 'MERGER', value: 1, related: 'M', ex: listWeekdays(7)[6]! }],
      document: { rebalance: { frequency: 'daily' }, pipeline: { weighting: { type: 'EqualWeight' } } },
      rows: 6,
      startRow,
    });
    expect(tally).toMatchObject({ extended: 1, joined: 1, reasons: {} });
  },
);

test('a run is not extended if a review has to replace securities, although a later review of the session decides again', () => {
  const weekly = (reference?: object) => ({ frequency: 'weekly', ...(reference ? { reference } : {}) });
  const tally = extendCase({
    close: { A: createPrices(100), B: createPrices(100), C: createPrices(100, { end: 7 }) },
    universe: ['A', 'B', 'C'],
    document: {
      reviews: [
        { id: 'early', scope: 'membership', schedule: weekly({ rule: 'sessions_before', sessions: 3 }) },
        { id: 'late', scope: 'membership', schedule: weekly() },
      ],
      events: { replacement: 'reserve', reserve: ['A'] },
      pipeline: { treatment: { dividends: 'price', max_stale_sessions: 0 }, weighting: { type: 'EqualWeight' } },
    },
    rows: 8,
  });
  expect(tally).toMatchObject({ extended: 0, reasons: { member_change: 1 } });
});

test('a run is not extended if a constituent without a price is replaced before a review of weights', () => {
  const tally = extendCase({
    close: {
      A: createPrices(100),
      B: createPrices(100),
      C: createPrices(100, { end: 9 }),
      D: createPrices(50),
    },
    universe: ['A', 'B', 'C', 'D'],
    document: {
      reviews: [{ id: 'weights', scope: 'weights', schedule: { frequency: 'weekly' } }],
      events: { replacement: 'reserve', reserve: ['D'] },
      pipeline: {
        selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count: 3 } }],
        treatment: { dividends: 'price', missing_prices: 'exclude' },
        weighting: { type: 'EqualWeight' },
      },
    },
    rows: 8,
  });
  expect(tally).toMatchObject({ extended: 0, reasons: { member_change: 1 } });
});

test('a return variant adjusts the carried price of a security that had no price at the end of the stored run', () => {
  const sessions = listWeekdays(10);
  const tally = extendCase({
    close: { A: createPrices(100, { end: 4 }), B: createPrices(100) },
    universe: ['A', 'B'],
    actions: [
      { name: 'A', type: 'DIVIDEND', value: 2, ex: sessions[3]! },
      { name: 'A', type: 'SPECIAL_DIVIDEND', value: 5, ex: sessions[7]! },
    ],
    document: {
      pipeline: {
        treatment: {
          dividends: 'price',
          reinvestment: 'constituent',
          special_dividends: 'adjust',
          max_stale_sessions: null,
        },
        weighting: { type: 'EqualWeight' },
      },
    },
    rows: 6,
  });
  expect(tally).toMatchObject({ extended: 1, reasons: {} });
});

test('the closes of a rebalance on the last stored session are those of its schedule, although an amendment begins on it', () => {
  const tally = extendCase({
    close: { A: [100, 101, 102, 103, 104, 105, 106, 107, 108, 109], B: createPrices(50) },
    universe: ['A', 'B'],
    document: {
      rebalance: { frequency: 'daily', weights_as: 'weights', phase: { fractions: [0.5, 0.3, 0.2] } },
      reviews: [{ id: 'counts', scope: 'shares', schedule: { frequency: 'monthly', anchor: 'last_session' } }],
      pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'PriceWeight' } },
      amendments: [
        {
          effective_from: listWeekdays(6).at(-1),
          rebalance: true,
          changes: { pipeline: { treatment: { withholding_tax: 0.3 } } },
        },
      ],
    },
    rows: 6,
  });
  expect(tally).toMatchObject({ extended: 1, reasons: {} });
});

describe('a review whose reference date is before the new sessions', () => {
  /** Extends a run by the effective session of a review with its reference date on session 6. C leaves on `end`. */
  const extendAfterExit = (end: number, reserve = 'D') =>
    extendCase({
      close: {
        A: createPrices(100),
        B: createPrices(100),
        C: createPrices(100, { end }),
        D: createPrices(50),
      },
      universe: ['A', 'B', 'C', 'D'],
      document: {
        reviews: [
          {
            id: 'weights',
            scope: 'weights',
            schedule: { frequency: 'weekly', reference: { rule: 'sessions_before', sessions: 3 } },
          },
        ],
        events: { replacement: 'reserve', reserve: [reserve] },
        pipeline: {
          selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count: 3 } }],
          treatment: { dividends: 'price', max_stale_sessions: 0 },
          weighting: { type: 'EqualWeight' },
        },
      },
      rows: 8,
    });

  test('extends a run whose constituents changed before the reference date', () => {
    expect(extendAfterExit(5)).toMatchObject({ extended: 1, rebalanced: 1, reasons: {} });
  });

  test('extends a run in which no security replaced a constituent that left on the reference date', () => {
    expect(extendAfterExit(6, 'A')).toMatchObject({ extended: 1, rebalanced: 1, reasons: {} });
  });

  test('extends a run whose constituents changed after the reference date', () => {
    expect(extendAfterExit(7)).toMatchObject({ extended: 1, rebalanced: 1, reasons: {} });
  });

  test('does not extend a run in which a breach triggered a rebalance after the reference date', () => {
    const others = Object.fromEntries(['B', 'C', 'D', 'E', 'F'].map((name) => [name, createPrices(100)]));
    const tally = extendCase({
      close: { A: [...createPrices(100).slice(0, 7), 350, 350, 350], ...others },
      universe: ['A', 'B', 'C', 'D', 'E', 'F'],
      document: {
        rebalance: {
          frequency: 'weekly',
          reference: { rule: 'sessions_before', sessions: 3 },
          phase: { sessions: 2 },
        },
        pipeline: {
          treatment: { dividends: 'price', on_breach: 'rebalance', breach_rule: 'UCITS_20_35' },
          weighting: { type: 'EqualWeight' },
        },
      },
      rows: 9,
    });
    expect(tally).toMatchObject({ extended: 0, reasons: { breach: 1 } });
  });
});

test('jumps of held securities are reported by an extended run as by a full run, also after a session without a bar', () => {
  const [, , secondDay, , , fifthDay, , seventhDay] = listWeekdays(10);
  const tally = extendCase({
    close: {
      A: [100, 100, 30, 30, 30, 30, 30, 90, 90, 90],
      // The previous bar of the jump is in the stored run, and the next one is not.
      B: [100, 100, 100, 100, null, null, null, 300, 300, 300],
      P: [100, 100, 100, 100, 100, 20, 20, 20, 20, 20],
      // The spun-off security has no price on the session on which its parent falls.
      KID: [null, null, null, null, null, null, null, 40, 40, 40],
    },
    universe: ['A', 'B', 'P'],
    actions: [
      { name: 'A', type: 'DIVIDEND', value: 0.01, ex: secondDay! },
      { name: 'P', type: 'SPIN_OFF', value: 1, related: 'KID', ex: fifthDay! },
      { name: 'A', type: 'SPLIT', value: 3, ex: seventhDay! },
    ],
    document: { pipeline: { weighting: { type: 'EqualWeight' } } },
    rows: 6,
  });
  expect(tally).toMatchObject({ extended: 1, reasons: {} });
});
