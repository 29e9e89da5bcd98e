import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runBacktest } from '#domain/backtest/run-backtest.js';
import { createRunFiles } from '#domain/backtest/run-file/columns.js';
import { joinBytes } from '#base/bytes.js';
import { countRetainedBytes } from '#base/memory.js';
import { formatDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { canPage, limitMemory, findMemoryLimit } from '#kernels/memory/paged-memory.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { createZeroPanel } from '#market/panels/panels.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { createMarket } from '../../workers/bits-market.js';
import { type ActionSketch, buildMarket } from './market-builder.js';
import { createPlainDecider } from './test-deciders.js';

const createFolder = openTemporaryFolders();

const document = IndexDocument.parse({
  id: 'X',
  name: 'X',
  calendar: 'XNYS',
  base_date: '2022-02-01',
  rebalance: { frequency: 'monthly' },
  pipeline: { weighting: { type: 'EqualWeight' }, treatment: { dividends: 'total' } },
});

/** Securities and days whose value index is large enough for kernels. */
const [NAMES, DAYS] = [450, 500];
/** Securities of spin-offs, which are listed on the ex-date. */
const CHILDREN = 20;
const EX_DAY = 250;

/** Returns a market in which every second security has a corporate action, and the last ones are spun off. */
function createEventfulMarket(): MarketData {
  const { identifiers, dates, fields } = createMarket(NAMES, DAYS);
  const prices = fields.get('CLOSE')!;
  const kinds: readonly Pick<ActionSketch, 'type' | 'value'>[] = [
    { type: 'DIVIDEND', value: 0.7 },
    { type: 'SPLIT', value: 2 },
    { type: 'SPECIAL_DIVIDEND', value: 3 },
    { type: 'DELISTING', value: 40 },
    { type: 'MERGER', value: 0.5 },
    { type: 'SPIN_OFF', value: 0.25 },
  ];
  const actions = Array.from({ length: 6 * CHILDREN }, (_, i): ActionSketch => {
    const kind = kinds[i % kinds.length]!;
    const related = {
      SPIN_OFF: identifiers[NAMES - 1 - Math.floor(i / kinds.length)]!,
      MERGER: identifiers[2 * i + 1]!,
    }[kind.type as string];
    const ex = formatDay(dates[kind.type === 'SPIN_OFF' ? EX_DAY : 100 + 3 * i]!);
    return { ...kind, name: identifiers[2 * i]!, ex, ...(related === undefined ? {} : { related }) };
  });
  const isListed = (t: number, n: number): boolean => n < NAMES - CHILDREN || t >= EX_DAY;
  return buildMarket({
    dates: Array.from(dates, formatDay),
    close: Object.fromEntries(
      identifiers.map((name, n) => [
        name,
        Array.from({ length: DAYS }, (_, t) => (isListed(t, n) ? prices[t * NAMES + n]! : null)),
      ]),
    ),
    actions,
  });
}

/** Returns the stored files of a run. The memory limit decides how the panel of the market is stored. */
function createFiles(market: MarketData): readonly [columns: Uint8Array, prices: Uint8Array] {
  const close = createZeroPanel(NAMES * DAYS);
  close.set(market.fields.get('CLOSE')!);
  const run = runBacktest({
    market: { ...market, fields: new Map([['CLOSE', close]]) },
    calendars: openCalendars(),
    createDecider: createPlainDecider,
    report: () => {},
    plan: {
      runId: 'X',
      name: 'X',
      indexId: 'X',
      documents: { X: document },
      request: { benchmark: null, start: null, end: null, initial_capital: 1_000_000, transaction_cost_bps: 10 },
    },
  });
  const { columns, prices } = createRunFiles(run, { contentHash: 'bits', apartBytesMin: 0 });
  return [columns, joinBytes(prices!)];
}

test('a run on paged panels has the bits of one in memory, whose values and weights are those of kernels', async ({
  skip,
}) => {
  const usualLimit = findMemoryLimit();
  const market = createEventfulMarket();
  const inMemory = createFiles(market);
  try {
    limitMemory({ panelBytes: 100_000, folder: await createFolder() });
    if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
    const pagedFiles = createFiles(market);
    expect([countRetainedBytes(1000), countRetainedBytes(3_200_000)]).toEqual([1000, 100_000]);
    expect(readFileSync('/proc/self/maps', 'utf8')).toContain(findMemoryLimit().folder);
    expect(pagedFiles.map((bytes, i) => Buffer.compare(bytes, inMemory[i]!))).toEqual([0, 0]);
  } finally {
    limitMemory(usualLimit);
  }
});
