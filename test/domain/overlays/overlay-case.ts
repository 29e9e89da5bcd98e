import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData, PriceSeries } from '#domain/market/market-data.js';

/** Returns an overlay on X in the form that clients send. */
export function createOverlayIndex(overlay: Readonly<Record<string, unknown>>, rest: object = {}): IndexDocument {
  return IndexDocument.parse({
    id: 'O',
    name: 'O',
    calendar: 'MAIN',
    base_date: '2023-12-27',
    kind: 'overlay',
    ...(overlay['type'] === 'blend' ? {} : { source_index_id: 'X' }),
    overlay,
    ...rest,
  });
}

/**
 * Returns the market with two interest rates and an exchange rate from pounds to dollars, which change every few days.
 */
export function addRates(market: MarketData): MarketData {
  const first = market.dates[0]! - 20;
  const days = Int32Array.from({ length: 60 }, (_, k) => first + 3 * k);
  const createSeries = (identifier: string, valueAt: (k: number) => number): [string, PriceSeries] => [
    identifier,
    { identifier, name: null, currency: null, days, closes: Float64Array.from(days, (_, k) => valueAt(k)) },
  ];
  const ownSeries = [
    createSeries('DOMESTIC', (k) => 5 + Math.sin(k)),
    createSeries('FOREIGN', (k) => 1 + 0.3 * Math.cos(k)),
    createSeries('GBPUSD', (k) => 1.25 + 0.05 * Math.sin(k / 2)),
  ];
  return { ...market, series: new Map([...(market.series ?? []), ...ownSeries]) };
}

/** One overlay of each kind. */
export const EVERY_OVERLAY = [
  [{ type: 'currency', to: 'GBP' }, { currency: 'GBP' }],
  [
    { type: 'currency_hedged', to: 'GBP', ratio: 0.8, rates: { domestic: 'DOMESTIC', foreign: 'FOREIGN' } },
    { currency: 'GBP' },
  ],
  [
    {
      type: 'currency_hedged',
      to: 'GBP',
      ratio: 0.5,
      rates: { domestic: 'DOMESTIC' },
      currencies: [
        { currency: 'EUR', rate: 'FOREIGN', ratio: 0.75 },
        { currency: 'USD', rate: 'FOREIGN' },
      ],
      adjust: 'daily',
    },
    { currency: 'GBP' },
  ],
  [{ type: 'risk_control', target: 0.1, half_lives: [3, 8], cash: 'DOMESTIC', spread_bps: 40, cost_bps: 3 }, {}],
  [
    {
      type: 'risk_control',
      target: 0.12,
      sessions: 4,
      cash: 'DOMESTIC',
      tolerance: 0.08,
      max_change: 0.21,
      cost_bps: 3,
    },
    { calendar: 'OTHER' },
  ],
  [{ type: 'risk_control', target: 0.11, half_lives: [5], max_change: 0.4, review: 'monthly' }, {}],
  [{ type: 'quanto', to: 'GBP' }, { currency: 'GBP' }],
  [{ type: 'leverage', factor: 2, financing: 'DOMESTIC', spread_bps: 50, cost_bps: 2 }, {}],
  [{ type: 'leverage', factor: -1, financing: 'DOMESTIC' }, { calendar: 'OTHER' }],
  [{ type: 'decrement', percent: 5 }, {}],
  [{ type: 'decrement', points: 4 }, {}],
  [{ type: 'risk_control', target: 0.13, windows: [3, 6], deviation: 'sample', lag: 1 }, {}],
  [{ type: 'excess_return', cash: 'DOMESTIC' }, {}],
  [{ type: 'collateral', rate: 'DOMESTIC', term_days: 91 }, { calendar: 'OTHER' }],
  [{ type: 'held_income', cash: 'DOMESTIC', rebalance: { frequency: 'weekly' } }, {}],
  [{ type: 'held_income', cash: 'DOMESTIC', proceeds: 'held' }, {}],
  [{ type: 'held_income', proceeds: 'held', rebalance: { frequency: 'weekly' } }, { calendar: 'OTHER' }],
  [{ type: 'fee', percent: 1 }, { calendar: 'OTHER' }],
  [
    {
      type: 'blend',
      parts: [
        { index_id: 'X', weight: 0.7 },
        { index_id: 'Y', weight: 0.3 },
      ],
      rebalance: { frequency: 'weekly' },
      cost_bps: 10,
    },
    { calendar: 'OTHER' },
  ],
] as const;

const DOUBLED = { type: 'leverage', factor: 2, financing: 'DOMESTIC' };
const RISK_CONTROL = { type: 'risk_control', target: 0.1, sessions: 5, cash: 'DOMESTIC' };
/** Overlays that other overlays use as underlying. */
export const OVERLAID_PARENTS = {
  D: createOverlayIndex(DOUBLED, { id: 'D', name: 'D' }),
  R: createOverlayIndex(RISK_CONTROL, { id: 'R', name: 'R', calendar: 'OTHER' }),
};
/** Overlays on other overlays. Their weights do not change while their levels grow. */
export const ON_OVERLAYS = [
  [
    { type: 'fee', percent: 1 },
    { source_index_id: 'D', calendar: 'OTHER' },
  ],
  [{ type: 'leverage', factor: -1, cost_bps: 2 }, { source_index_id: 'R' }],
  [
    { type: 'currency_hedged', to: 'GBP', rates: { domestic: 'DOMESTIC', foreign: 'FOREIGN' } },
    { source_index_id: 'D', currency: 'GBP' },
  ],
  [
    {
      type: 'blend',
      parts: ['D', 'R', 'Y'].map((index_id, k) => ({ index_id, weight: [0.5, 0.3, 0.2][k] })),
      rebalance: { frequency: 'weekly' },
    },
    {},
  ],
] as const;
