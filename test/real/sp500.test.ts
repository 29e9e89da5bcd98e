import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLiveService, type LiveService } from './live.js';
import { hasSp500, SP500, writeSp500Folder } from './sp500-folder.js';

/**
 * True if Python has numpy. Real closes of 469 securities from 2010 to 2013 have gaps, wrong prices and missed splits.
 * The levels are compared with levels that test/real/sp500_levels.py computes with numpy, without code of this project.
 */
const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
if (!hasSp500) console.log(`skipped: ${SP500.closes} is not on this machine`);
else if (!hasNumpy) console.log('skipped: python3 with numpy is not on this machine');

interface RelaxedFinding {
  readonly code: string;
  readonly message: string;
  readonly path: string;
  readonly value: number;
}
interface ReferenceLevels {
  readonly dates: string[];
  readonly levels: number[];
}
type ReferenceRun = Record<'equal' | 'inverse_volatility' | 'capped', ReferenceLevels> & {
  /** Variant that is rebalanced whenever a security has its fifth session without a price. */
  readonly fifth: ReferenceLevels & { readonly rebalances: string[] };
  readonly jumps: [string, string][];
};

const sharedFields = { calendar: 'XNYS', universe: { kind: 'all' } };
const treatment = { dividends: 'price' };
const documents: Record<'equal' | 'inverse_volatility' | 'capped', Record<string, unknown>> = {
  equal: {
    ...sharedFields,
    id: 'EQ',
    name: 'Equal weight, quarterly',
    base_date: '2010-01-04',
    rebalance: { frequency: 'quarterly' },
    pipeline: { treatment, weighting: { type: 'EqualWeight' } },
  },
  inverse_volatility: {
    ...sharedFields,
    id: 'IV',
    name: 'Inverse volatility, monthly',
    base_date: '2010-06-01',
    rebalance: { frequency: 'monthly' },
    pipeline: {
      treatment,
      weighting: { type: 'InverseVolatilityWeight', params: { window: 252, minimum_observations: 60 } },
    },
  },
  capped: {
    ...sharedFields,
    id: 'VT',
    name: 'Sixty by value traded, capped at 5 %',
    base_date: '2010-06-01',
    rebalance: { frequency: 'quarterly' },
    pipeline: {
      selection: [
        {
          id: 'sectors',
          type: 'CategoryFilter',
          params: { field: 'SECTOR', include: ['Information Technology', 'Health Care', 'Financials', 'Energy'] },
        },
        { id: 'traded', type: 'TopN', params: { field: 'VALUE_TRADED', count: 60 } },
      ],
      treatment,
      weighting: { type: 'FieldWeight', params: { field: 'VALUE_TRADED' }, cap: 0.05 },
    },
  },
};

describe.skipIf(!hasSp500 || !hasNumpy)('469 real names, 2010 to 2013', () => {
  let service: LiveService;
  let opinion: ReferenceRun;
  let findings: { code: string; message: string; path: string }[] = [];

  beforeAll(async () => {
    opinion = JSON.parse(
      execFileSync('python3', ['test/real/sp500_levels.py', SP500.closes, SP500.volumes, SP500.constituents], {
        maxBuffer: 2 ** 26,
        encoding: 'utf8',
      }),
    ) as ReferenceRun;
    service = await openLiveService();
    const folder = join(service.folder, 'sp500');
    await writeSp500Folder(folder);
    const store = await service.ok<{ store_id: string; findings?: typeof findings }>('POST', '/data/stores', {
      name: 'S&P 500 2010-2013',
      store_id: 'sp500',
      kind: 'folder',
      location: folder,
      adjustment: 'splits',
    });
    const loadedAnswer = await service.job<{ findings?: typeof findings }>(`/data/stores/${store.store_id}/activate`);
    expect(loadedAnswer.error).toBeNull();
    findings =
      (await service.ok<{ findings?: typeof findings }>('GET', '/data/stores/sp500')).findings ??
      loadedAnswer.result.findings ??
      store.findings ??
      [];
  });
  afterAll(() => service?.close());

  test.each(['equal', 'inverse_volatility', 'capped'] as const)(
    'levels of the %s index agree with numpy to 1e-9',
    async (name) => {
      const document = documents[name];
      await service.ok('PUT', `/indices/${String(document['id'])}`, document);
      const job = await service.job<{ index_level: { index: string[]; data: number[] } }>(
        `/analytics/${String(document['id'])}/backtest`,
        {},
      );
      expect(job.error).toBeNull();
      const { index, data } = job.result.index_level;
      expect(index).toEqual(opinion[name].dates);
      const worst = Math.max(...data.map((level, t) => Math.abs(level / opinion[name].levels[t]! - 1)));
      expect(worst).toBeLessThan(1e-9);
    },
  );

  test('a security leaves on its fifth session without a bar where that is a rebalance date, and is not selected on it', async () => {
    const { dates, levels, rebalances } = opinion.fifth;
    expect(rebalances.length).toBeGreaterThan(0);
    const rebalance = { frequency: 'custom', dates: rebalances };
    await service.ok('PUT', '/indices/FIFTH', { ...documents.equal, id: 'FIFTH', rebalance });
    const job = await service.job<{ index_level: { index: string[]; data: number[] } }>(
      '/analytics/FIFTH/backtest',
      {},
    );
    expect(job.error).toBeNull();
    expect(job.result.index_level.index).toEqual(dates);
    const worst = Math.max(...job.result.index_level.data.map((level, t) => Math.abs(level / levels[t]! - 1)));
    expect(worst).toBeLessThan(1e-9);
  });

  test('the suspicious prices appear as PRICE_JUMP warnings', () => {
    const jumps = findings.filter(({ code }) => code === 'PRICE_JUMP').map(({ path, message }) => `${path} ${message}`);
    expect(jumps).toHaveLength(opinion.jumps.length);
    for (const [identifier, date] of opinion.jumps) {
      expect([
        identifier,
        date,
        jumps.some((message) => message.includes(identifier) && message.includes(date)),
      ]).toEqual([identifier, date, true]);
    }
  });

  test('a derived index reports no turnover above its limit, but for sales of securities that left', async () => {
    const limit = 0.1;
    const constraints = [
      { id: 'pos', type: 'PositionBounds', params: { upper: 0.05 } },
      // uses the default reference of a derived index
      { id: 'turn', type: 'Turnover', params: { limit } },
    ];
    await service.ok('PUT', '/indices/VT', documents.capped);
    const derivedIndex = { id: 'VT-LOW', name: 'Low variance', objective: { type: 'min_variance' }, constraints };
    await service.ok('POST', '/indices/VT/optimise', derivedIndex);
    const job = await service.job<{ findings: RelaxedFinding[] }>('/analytics/VT-LOW/backtest', {});
    expect(job.error).toBeNull();
    const { rebalances } = await service.ok<{ rebalances: { date: string; turnover: number | null }[] }>(
      'GET',
      '/analytics/VT-LOW/rebalances',
    );
    expect(rebalances.length).toBeGreaterThan(10);
    const relaxedRows = new Map(
      job.result.findings
        .filter(({ code, path }) => code === 'CONSTRAINT_RELAXED' && path.endsWith('constraints[1].params.limit'))
        .map(({ message, value }) => [message.slice('On '.length, 'On yyyy-mm-dd'.length), value] as const),
    );
    for (const { date, turnover } of rebalances.filter((row) => row.turnover !== null))
      expect([date, turnover! <= (relaxedRows.get(date) ?? limit) + 1e-8]).toEqual([date, true]);
    // The limit binds, because the minimum variance requires more turnover.
    expect(rebalances.filter(({ turnover }) => turnover! > limit - 1e-6).length).toBeGreaterThan(5);
  });
});
