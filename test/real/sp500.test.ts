import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { liveService, type LiveService } from './live.js';

/**
 * Real closes of 469 names, 2010 to 2013, ragged, with bad prints and missed splits, against levels that numpy calculates
 * in test/real/sp500_levels.py without any code of this project.
 */
const SHARED = resolve('../shared/data');
const CLOSES = join(SHARED, 'sp500-2010-2013/close_split_adjusted.csv.gz');
const VOLUMES = join(SHARED, 'sp500-2010-2013/volume.csv.gz');
const CONSTITUENTS = join(SHARED, 'reference/constituents.csv');

const hasData = existsSync(CLOSES);
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
if (!hasData) console.log(`skipped: ${CLOSES} is not on this machine`);
else if (!hasNumpy) console.log('skipped: python3 with numpy is not on this machine');

interface Second {
  readonly dates: string[];
  readonly levels: number[];
}
type Opinion = Record<'equal' | 'inverse_volatility' | 'capped', Second> & { readonly jumps: [string, string][] };

const shared = { calendar: 'XNYS', universe: { kind: 'all' } };
const treatment = { dividends: 'price' };
const documents: Record<'equal' | 'inverse_volatility' | 'capped', Record<string, unknown>> = {
  equal: { ...shared, id: 'EQ', name: 'Equal weight, quarterly', base_date: '2010-01-04', rebalance: { frequency: 'quarterly' }, pipeline: { treatment, weighting: { type: 'EqualWeight' } } },
  inverse_volatility: {
    ...shared, id: 'IV', name: 'Inverse volatility, monthly', base_date: '2010-06-01', rebalance: { frequency: 'monthly' },
    pipeline: { treatment, weighting: { type: 'InverseVolatilityWeight', params: { window: 252, minimum_observations: 60 } } },
  },
  capped: {
    ...shared, id: 'VT', name: 'Sixty by value traded, capped at 5 %', base_date: '2010-06-01', rebalance: { frequency: 'quarterly' },
    pipeline: {
      selection: [
        { id: 'sectors', type: 'CategoryFilter', params: { field: 'SECTOR', include: ['Information Technology', 'Health Care', 'Financials', 'Energy'] } },
        { id: 'traded', type: 'TopN', params: { field: 'VALUE_TRADED', count: 60 } },
      ],
      treatment,
      weighting: { type: 'FieldWeight', params: { field: 'VALUE_TRADED' }, cap: 0.05 },
    },
  },
};

describe.skipIf(!hasData || !hasNumpy)('469 real names, 2010 to 2013', () => {
  let service: LiveService;
  let opinion: Opinion;
  let findings: { code: string; message: string; path: string }[] = [];

  beforeAll(async () => {
    opinion = JSON.parse(execFileSync('python3', ['test/real/sp500_levels.py', CLOSES, VOLUMES, CONSTITUENTS], { maxBuffer: 2 ** 26, encoding: 'utf8' })) as Opinion;
    service = await liveService();
    const folder = join(service.folder, 'sp500');
    await mkdir(folder);
    await writeFile(join(folder, 'market.csv'), marketCsv(table(CLOSES), table(VOLUMES)));
    await writeFile(join(folder, 'reference.csv'), referenceCsv());
    const store = await service.ok<{ store_id: string; findings?: typeof findings }>('POST', '/data/stores', { name: 'S&P 500 2010-2013', store_id: 'sp500', kind: 'folder', location: folder, adjustment: 'splits' });
    const loaded = await service.job<{ findings?: typeof findings }>(`/data/stores/${store.store_id}/activate`);
    expect(loaded.error).toBeNull();
    findings = (await service.ok<{ findings?: typeof findings }>('GET', '/data/stores/sp500')).findings ?? loaded.result.findings ?? store.findings ?? [];
  });
  afterAll(() => service?.close());

  test.each(['equal', 'inverse_volatility', 'capped'] as const)('levels of the %s index agree with numpy to 1e-9', async (name) => {
    const document = documents[name];
    await service.ok('PUT', `/indices/${String(document['id'])}`, document);
    const job = await service.job<{ index_level: { index: string[]; data: number[] } }>(`/analytics/${String(document['id'])}/backtest`, {});
    expect(job.error).toBeNull();
    const { index, data } = job.result.index_level;
    expect(index).toEqual(opinion[name].dates);
    const worst = Math.max(...data.map((level, t) => Math.abs(level / opinion[name].levels[t]! - 1)));
    expect(worst).toBeLessThan(1e-9);
  });

  test('the doubtful prints appear as PRICE_JUMP warnings', () => {
    const jumps = findings.filter(({ code }) => code === 'PRICE_JUMP').map(({ path, message }) => `${path} ${message}`);
    expect(jumps).toHaveLength(opinion.jumps.length);
    for (const [identifier, date] of opinion.jumps) {
      expect([identifier, date, jumps.some((message) => message.includes(identifier) && message.includes(date))]).toEqual([identifier, date, true]);
    }
  });
});

interface Table {
  readonly names: string[];
  readonly rows: { readonly date: string; readonly cells: string[] }[];
}

function table(path: string): Table {
  const [header = '', ...lines] = gunzipSync(readFileSync(path)).toString('utf8').trim().split(/\r?\n/);
  return { names: header.split(',').slice(1), rows: lines.map((line) => ({ date: line.split(',', 1)[0]!, cells: line.split(',').slice(1) })) };
}

function marketCsv(closes: Table, volumes: Table): string {
  const volumeColumn = new Map(volumes.names.map((name, column) => [name, column]));
  const lines = closes.rows.flatMap(({ date, cells }, t) =>
    cells.flatMap((close, i) => {
      const name = closes.names[i]!;
      const column = volumeColumn.get(name);
      return close === '' ? [] : [`${date},${name},${close},${column === undefined ? '' : volumes.rows[t]!.cells[column]}`];
    }),
  );
  return ['date,identifier,CLOSE,VOLUME', ...lines, ''].join('\n');
}

function referenceCsv(): string {
  const sectors = readFileSync(CONSTITUENTS, 'utf8').trim().split(/\r?\n/).slice(1).map((line) => /^([^,]+),(?:"[^"]*"|[^,]*),([^,]+),/.exec(line)!);
  const held = new Set(table(CLOSES).names);
  return ['identifier,SECTOR', ...sectors.filter((match) => held.has(match[1]!)).map((match) => `${match[1]},${match[2]}`), ''].join('\n');
}
