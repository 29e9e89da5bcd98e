import { afterAll, beforeAll, expect } from 'vitest';
import { type TestService, startService } from '../service.js';

export let service: TestService;
const BASE = {
  calendar: 'XNYS',
  base_date: '2022-01-03',
  universe: { kind: 'named', id: 'SYNTH' },
  rebalance: { frequency: 'quarterly' },
};

beforeAll(async () => {
  service = await startService();
  const generatingAnswer = await service.call('POST', '/data/synthetic', {
    store_id: 'synth',
    seed: 7,
    assets: 30,
    start: '2021-06-01',
    end: '2023-12-29',
    splits_per_year: 0.3,
    delistings_per_year: 0.05,
  });
  expect(generatingAnswer.status, JSON.stringify(generatingAnswer.body)).toBe(202);
  expect((await service.finished('generate:synth')).body.status).toBe('succeeded');
  const definitions = {
    MAIN: {
      ...BASE,
      pipeline: {
        selection: [{ id: 'top', type: 'TopN', params: { count: 12 } }],
        treatment: { dividends: 'total' },
        weighting: { type: 'MarketCapWeight', cap: 0.15 },
      },
    },
    WIDE: { ...BASE, pipeline: { weighting: { type: 'EqualWeight' } } },
    ONE: {
      ...BASE,
      pipeline: {
        selection: [{ id: 'top', type: 'TopN', params: { count: 1 } }],
        treatment: { dividends: 'net', withholding_tax: 0.3 },
        weighting: { type: 'EqualWeight' },
      },
      rebalance: { frequency: 'none' },
    },
  };
  for (const [id, document] of Object.entries(definitions))
    expect((await service.call('POST', '/indices', { id, name: `Index ${id}`, ...document })).status).toBe(200);
  const startedAnswer = await service.checked('startBacktest', '/analytics/MAIN/backtest', {
    transaction_cost_bps: 5,
    benchmark: { id: 'WIDE', kind: 'index' },
  });
  expect(startedAnswer.status, JSON.stringify(startedAnswer.body)).toBe(202);
  const { body } = await service.finished('backtest:MAIN');
  expect(body.error).toBeNull();
});

afterAll(() => service.close());

export const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
