import type { Browser } from 'playwright-core';
import { openDesk, type Desk } from './desk.js';

const RULES = {
  calendar: 'XNYS',
  base_date: '2015-01-02',
  base_value: 1000,
  currency: 'USD',
  universe: { kind: 'all' },
  rebalance: { frequency: 'quarterly', anchor: 'third_friday' },
};
const createPipeline = (count: number) => ({
  selection: [{ id: 'top', type: 'TopN', params: { field: 'MARKET_CAP', count } }],
  treatment: { dividends: 'total' },
  weighting: { type: 'MarketCapWeight', cap: 0.1 },
});

/**
 * Opens a desk. Its service has a market from 2014 on and runs of two indices, CORE and BROAD. The run of CORE has
 * costs, and its benchmark is BROAD.
 */
export async function openStockedDesk(browser: Browser): Promise<Desk> {
  const desk = await openDesk(browser);
  const { service } = desk;
  const settings = { store_id: 'market', name: 'Market', seed: 42, assets: 60, start: '2014-01-01', activate: true };
  await service.ask('POST', '/data/synthetic', settings);
  await service.waitForJob('generate:market');
  await service.ask('PUT', '/indices/CORE', { id: 'CORE', name: 'Core', ...RULES, pipeline: createPipeline(20) });
  await service.ask('PUT', '/indices/BROAD', { id: 'BROAD', name: 'Broad', ...RULES, pipeline: createPipeline(50) });
  await service.ask('POST', '/analytics/BROAD/backtest', {});
  await service.waitForJob('backtest:BROAD');
  const terms = { transaction_cost_bps: 10, benchmark: { kind: 'index', id: 'BROAD' } };
  await service.ask('POST', '/analytics/CORE/backtest', terms);
  await service.waitForJob('backtest:CORE');
  return desk;
}

/** Imports a store with no column except closes. */
export async function importPrices(desk: Desk): Promise<void> {
  const data = Array.from({ length: 700 }, (_, t) => new Date(Date.UTC(2022, 0, 3 + t)))
    .filter((day) => day.getUTCDay() % 6 !== 0)
    .flatMap((day, t) =>
      ['A', 'B', 'C'].map((name, k) => [name, day.toISOString().slice(0, 10), 100 + 10 * Math.sin((t * (k + 1)) / 30)]),
    );
  const market = { index: data.map((_, row) => row), columns: ['identifier', 'date', 'CLOSE'], data };
  await desk.service.ask('POST', '/data/import', {
    store_id: 'closes',
    name: 'Closes',
    activate: false,
    tables: { market },
  });
}
