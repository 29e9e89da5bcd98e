import { expect, test } from 'vitest';
import { keptMemory } from '#base/memory/kept-memory.js';
import { runToFiles } from '#domain/backtest/run-file/write.js';
import { IndexDocument } from '#domain/documents/index-document.js';
import { formatDay } from '#domain/time/days.js';
import { openCalendars } from '#market/serving/calendar-files.js';
import { seededMarket } from '../../../../bench/domain/seeded-market.js';
import { runOn } from '../random-run.js';

const calendars = openCalendars();
const market = seededMarket(calendars, { names: 400, sessions: 3000 });

test.each(['quarterly', 'monthly'] as const)(
  'the columns of a %s index that pays dividends are written around its weights, without a copy',
  (frequency) => {
    const document = IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'XNYS',
      base_date: formatDay(market.dates[0]!),
      rebalance: { frequency },
      pipeline: { weighting: { type: 'MarketCapWeight', cap: 0.02 } },
    });
    const run = runOn(calendars, market, document, { transaction_cost_bps: 10, memory: keptMemory, pricesApart: true });
    const { columns } = runToFiles(run, { contentHash: '', inPlace: true, apartBytesMin: 0 });
    expect(columns.buffer === run.portfolio.weights.buffer).toBe(true);
  },
);
