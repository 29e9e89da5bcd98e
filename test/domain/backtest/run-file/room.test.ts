import { expect, test } from 'vitest';
import { allocateRetainedMemory, type Memory } from '#base/memory.js';
import { beginRunFiles, createRunFiles } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import type { MarketData } from '#domain/market/market-data.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { formatDay } from '#domain/base/time.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createSeededMarket } from '../../../../bench/domain/seeded-market.js';
import { runOn } from '../random-run.js';

const NAMES = 400;
const calendars = openCalendars();
const market = createSeededMarket(calendars, { names: NAMES, sessions: 3000 });

function simulate(pricedMarket: MarketData, members: object): Run {
  const document = IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'XNYS',
    base_date: formatDay(pricedMarket.dates[0]!),
    pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.02 } },
    ...members,
  });
  return runOn(calendars, pricedMarket, document, {
    transaction_cost_bps: 10,
    memory: allocateRetainedMemory,
    pricesApart: true,
  });
}

function isInPlace(pricedMarket: MarketData, members: object): boolean {
  const run = simulate(pricedMarket, members);
  const { columns } = createRunFiles(run, { contentHash: '', inPlace: true, apartBytesMin: 0 });
  return columns.buffer === run.portfolio.weights.buffer;
}

test.each(['quarterly', 'monthly'])(
  'the columns of a %s index that pays dividends are written around its weights, without a copy',
  (frequency) => expect(isInPlace(market, { rebalance: { frequency } })).toBe(true),
);

test('so are those of an index that follows the share counts of a tenth of its securities on every session', () => {
  const shares = market.fields.get('SHARES_OUTSTANDING')!.slice();
  for (let i = NAMES; i < shares.length; i++) shares[i] = shares[i - NAMES]! * (i % 10 === 0 ? 1.001 : 1);
  const changingMarket = { ...market, fields: new Map([...market.fields, ['SHARES_OUTSTANDING', shares]]) };
  expect(isInPlace(changingMarket, { events: { share_changes: 'effective', threshold: 0 } })).toBe(true);
});

test('other columns are written into memory that is passed, with the same bytes as into new memory', () => {
  const pipeline = {
    treatment: { dividends: 'total', reinvestment: 'constituent' },
    weighting: { type: 'MarketCapWeight', cap: 0.02 },
  };
  const run = simulate(market, { rebalance: { frequency: 'quarterly' }, pipeline });
  const expected = createRunFiles(run, { contentHash: '', apartBytesMin: 0 }).columns;
  let given: SharedArrayBuffer | undefined;
  // Memory contains zeros except for the range that may contain anything.
  const memory: Memory = (bytes, { from, to }) => {
    given = new SharedArrayBuffer(bytes + 64);
    new Uint8Array(given).fill(255, from, to);
    return given;
  };
  const { columns } = createRunFiles(run, { contentHash: '', inPlace: true, apartBytesMin: 0, memory });
  expect(columns.buffer).toBe(given);
  expect(Buffer.compare(columns, expected)).toBe(0);
});

test.each([
  ['around the weights of the run', 'index'],
  ['in order', 'constituent'],
])('bytes before the end of a written block no longer change: %s', (_, reinvestment) => {
  const members = {
    rebalance: { frequency: 'quarterly' },
    pipeline: { treatment: { dividends: 'total', reinvestment }, weighting: { type: 'MarketCapWeight' } },
  };
  const options = { contentHash: '', inPlace: true, apartBytesMin: 0 };
  const { columns: expected } = createRunFiles(simulate(market, members), options);
  const { columns, weightsEnd, final, blocks } = beginRunFiles(simulate(market, members), options);
  expect(final >= weightsEnd).toBe(reinvestment === 'index');
  let end = final;
  const expectFinal = (): void => expect(Buffer.compare(columns.subarray(0, end), expected.subarray(0, end))).toBe(0);
  expectFinal();
  for (const next of blocks) {
    expect(next).toBeGreaterThanOrEqual(end);
    end = next;
    expectFinal();
  }
  expect(Buffer.compare(columns, expected)).toBe(0);
});
