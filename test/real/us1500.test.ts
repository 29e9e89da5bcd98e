import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { IS_SOAK } from '../soak.js';
import { openLiveService, type LiveService } from './live.js';

const CLOSES = resolve('../shared/data/us-1500-adjusted/adj_close_2005_2017_top1500.csv.gz');
const hasData = existsSync(CLOSES);
if (!hasData) console.log(`skipped: ${CLOSES} is not on this machine`);

/**
 * Number of days that are read, counted from the last. `test/market/content/real-sets` reads all 3,201 days of some of
 * the securities, and in the soak of all securities.
 */
const DAYS = IS_SOAK ? Infinity : 120;

/** Tests 1,500 fully adjusted securities over their last days. Another library wrote the Parquet file. */
describe.skipIf(!hasData)('1,500 real names as Parquet', () => {
  let service: LiveService;
  let names: string[] = [];
  let dates: string[] = [];

  beforeAll(async () => {
    service = await openLiveService();
    const [header = '', ...all] = gunzipSync(readFileSync(CLOSES)).toString('utf8').trim().split(/\r?\n/);
    const lines = all.slice(-DAYS);
    names = header.split(',').slice(1);
    dates = lines.map((line) => line.slice(0, 10));
    const folder = join(service.folder, 'us1500');
    await mkdir(folder);
    await writeFile(join(folder, 'market.parquet'), encodeParquet(lines, names));
    await service.ok('POST', '/data/stores', {
      name: 'US 1500',
      store_id: 'us1500',
      kind: 'folder',
      location: folder,
      adjustment: 'total',
    });
    const loadedAnswer = await service.job('/data/stores/us1500/activate');
    expect(loadedAnswer.error).toBeNull();
  });
  afterAll(() => service?.close());

  test('loads every name and day', async () => {
    expect(await service.ok('GET', '/data/stores/us1500')).toMatchObject({
      identifiers: names.length,
      start: dates[0],
      end: dates.at(-1),
      status: 'ready',
      active: true,
    });
  });

  test('backtests all of them', async () => {
    await service.ok('PUT', '/indices/ALL', {
      id: 'ALL',
      name: 'All names',
      calendar: 'XNYS',
      base_date: dates[0],
      rebalance: { frequency: 'monthly' },
      pipeline: { weighting: { type: 'EqualWeight' } },
    });
    const job = await service.job<{ rebalances: { weights: Record<string, number> }[]; level: { index: string[] } }>(
      '/analytics/ALL/backtest',
      { transaction_cost_bps: 5 },
    );
    expect(job.error).toBeNull();
    expect(Object.keys(job.result.rebalances.at(-1)!.weights)).toHaveLength(names.length);
    expect(job.result.level.index.at(-1)).toBe(dates.at(-1));
    const attribution = await service.ok<{ reconciles: boolean; contributions: unknown[] }>(
      'GET',
      '/analytics/ALL/attribution',
    );
    expect(attribution.reconciles).toBe(true);
    expect(attribution.contributions).toHaveLength(names.length);
  });
});

function encodeParquet(lines: readonly string[], names: readonly string[]): Uint8Array {
  const dates: string[] = [];
  const identifiers: string[] = [];
  const close: number[] = [];
  for (const line of lines) {
    const cells = line.split(',');
    for (let i = 0; i < names.length; i++) {
      const text = cells[i + 1];
      if (text === undefined || text === '') continue;
      dates.push(cells[0]!);
      identifiers.push(names[i]!);
      close.push(Number(text));
    }
  }
  return new Uint8Array(
    parquetWriteBuffer({
      columnData: [
        { name: 'date', data: dates, type: 'STRING' },
        { name: 'identifier', data: identifiers, type: 'STRING' },
        { name: 'CLOSE', data: close, type: 'DOUBLE' },
      ],
    }),
  );
}
