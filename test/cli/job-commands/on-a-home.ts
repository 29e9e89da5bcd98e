import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { benchGeneratedWork, type WorkTiming } from '#cli/bench/bench.js';
import { createDivisorClient } from '#clients/typescript/divisor.js';
import { IS_SOAK } from '../../soak.js';
import { runDivisor, runHere, startServiceHere } from '../process.js';
import { INDEX, folder, home, toPath, toLines, runOnHome } from './set-up.js';

const GENERATED_WORK = [
  'generate a market',
  'backtest',
  'sweep',
  'backtest, stored with its record',
  'risk model',
  'optimisation',
  'factsheet',
];

export function describeOnAHome(): void {
  describe('on a pipe and a home', () => {
    test('a backtest first stores its document, reports each state once and ends with the result', async () => {
      const { status, out, err } = await runOnHome([
        'backtest',
        'EVEN',
        '--document',
        toPath('even.json'),
        '--cost-bps',
        '5',
      ]);
      expect([status, err]).toEqual([0, '']);
      const lines = toLines(out);
      expect(new Set(out.trim().split('\n')).size).toBe(lines.length);
      expect([...new Set(lines.map(({ event }) => event))]).toEqual(['status', 'result']);
      expect(lines.at(-2)).toMatchObject({
        event: 'status',
        job_id: 'backtest:EVEN',
        status: 'succeeded',
        progress: 1,
      });
      const { result } = lines.at(-1) as unknown as {
        result: { metrics: { total_return: number }; level: { data: number[] } };
      };
      expect(result.metrics.total_return).toBeCloseTo(result.level.data.at(-1)! / result.level.data[0]! - 1, 12);
    });

    test('the ids that a shell completes are those of the home', async () => {
      const ask = async (kind: string) => {
        const { status, out } = await runHere(['completion', 'ids', kind], { DIVISOR_HOME: home });
        return [status, out.split('\n')];
      };
      expect(await ask('indices')).toEqual([0, expect.arrayContaining(['EVEN'])]);
      expect(await ask('stores')).toEqual([0, expect.arrayContaining(['desk'])]);
      expect(await ask('names')).toEqual([0, ['']]); // only a service completes the identifiers of its store
      expect(await ask('people')).toEqual([64, ['']]);
    });

    test('a backtest of a current run returns the stored result immediately', async () => {
      const { status, out, err } = await runOnHome(['backtest', 'EVEN', '--cost-bps', '5', '--if-stale']);
      expect([status, err]).toEqual([0, '']);
      expect(toLines(out)).toMatchObject([{ event: 'result', result: { metrics: expect.anything() } }]);
      const repeatedOutcome = await runOnHome(['backtest', 'EVEN', '--cost-bps', '6', '--if-stale']);
      expect(toLines(repeatedOutcome.out).some(({ event }) => event === 'status')).toBe(true);
    });

    test('a sweep ranks the combinations of a grid, one line each, and stores the request', async () => {
      const { status, out, err } = await runOnHome([
        'sweep',
        toPath('grid.json'),
        '--index',
        'EVEN',
        '--id',
        'terms',
        '--start',
        '2021-01-04',
        '--rank-by',
        'total_return',
      ]);
      expect([status, err]).toEqual([0, '']);
      const rows = toLines(out).filter(({ event }) => event === 'row') as unknown as {
        rank: number;
        start: string;
        patch: Record<string, unknown>;
        metrics: { total_return: number };
      }[];
      expect(rows.map(({ rank }) => rank)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(rows.map(({ metrics }) => metrics.total_return)).toEqual(
        rows.map(({ metrics }) => metrics.total_return).toSorted((a, b) => b - a),
      );
      expect(new Set(rows.map(({ patch }) => JSON.stringify(patch))).size).toBe(6);
      expect(rows[0]?.start).toBe('2021-01-04');
      expect(toLines(out).at(-1)).toMatchObject({
        event: 'result',
        result: { sweep_id: 'terms', rank_by: 'total_return', variants: 6 },
      });
    });

    test.each([
      ['a list of variants', [{ '/request/transaction_cost_bps': 1 }, { '/request/transaction_cost_bps': 2 }], 2],
      [
        'a whole request',
        { index_id: 'EVEN', grid: { '/request/transaction_cost_bps': [1, 2, 3] }, request: { start: '2021-01-04' } },
        3,
      ],
    ])('a sweep takes %s', async (_, sweep, variants) => {
      await writeFile(toPath('given.json'), JSON.stringify(sweep));
      const { status, out } = await runOnHome([
        'sweep',
        toPath('given.json'),
        ...(Array.isArray(sweep) ? ['--index', 'EVEN'] : []),
      ]);
      expect([status, toLines(out).at(-1)]).toMatchObject([0, { result: { variants } }]);
    });

    test('a report is written to --out, and no other file', async () => {
      const { status, out } = await runOnHome([
        'report',
        'FACTSHEET-A4',
        '--index',
        'EVEN',
        '--out',
        toPath('even.pdf'),
      ]);
      expect([status, toLines(out).at(-1)]).toEqual([0, { event: 'result', out: toPath('even.pdf') }]);
      expect((await readFile(toPath('even.pdf'))).subarray(0, 5).toString()).toBe('%PDF-');
    });

    test('a risk model and an optimisation are computed in the same way', async () => {
      const risk = await runOnHome(['risk', 'even', '--index', 'EVEN']);
      expect([risk.status, toLines(risk.out).at(-1)]).toMatchObject([0, { result: { diagnostics: { assets: 4 } } }]);
      const outcome = await runOnHome(['risk', 'clean', '--index', 'EVEN', '--estimator', 'denoised']);
      expect(outcome.status).toBe(0);
      const ids = toLines(risk.out).at(-1)!['result'] as { readonly asset_ids: readonly [string, string] };
      const [a, b] = ids.asset_ids;
      await writeFile(toPath('outside.csv'), `identifier,${a},${b}\n${a},0.0004,0.0001\n${b},0.0001,0.0003\n`);
      const importCommand = ['import-risk', 'outside', toPath('outside.csv'), '--units', 'daily'];
      const importedOutcome = await runOnHome([...importCommand, '--date', '2020-12-31']);
      expect([importedOutcome.status, toLines(importedOutcome.out).at(-1)]).toMatchObject([
        0,
        { result: { model_id: 'outside', assets: 2, imported: { units: 'daily', dates: [{ date: '2020-12-31' }] } } },
      ]);
      const undatedOutcome = await runOnHome(importCommand);
      expect([undatedOutcome.status, undatedOutcome.err]).toMatchObject([2, expect.stringContaining('state its date')]);
      const words = ['validate-risk', 'clean', '--sessions', '60', '--horizon', '10', '--random', '3'];
      const validation = await runOnHome([...words, '--eigenportfolios', '2']);
      expect([validation.status, toLines(validation.out).at(-1)]).toMatchObject([
        0,
        { event: 'result', result: { settings: { estimator: 'denoised' }, sessions: 60, horizon: 10 } },
      ]);
      const portfolios = toLines(validation.out).filter(({ event }) => event === 'portfolio');
      const numbers = { equal_weight: 1, index: 1, random: 3, active: 3, eigenportfolio: 2 };
      for (const [family, count] of Object.entries(numbers))
        expect([family, portfolios.filter((row) => row['family'] === family).length]).toEqual([family, count]);
      await writeFile(
        toPath('limits.json'),
        JSON.stringify({
          id: 'limits',
          name: 'Limits',
          constraints: [{ type: 'PositionBounds', params: { upper: 0.4 } }],
        }),
      );
      const optimisedOutcome = await runOnHome(['optimise', 'EVEN', 'limits', '--constraints', toPath('limits.json')]);
      expect([optimisedOutcome.status, toLines(optimisedOutcome.out).at(-1)]).toMatchObject([
        0,
        { result: { converged: true } },
      ]);
    });

    test('a folder outside the allowed ones is refused with the allowed folders and the flag that allows it', async () => {
      const otherFolder = await mkdtemp(join(tmpdir(), 'divisor-elsewhere-'));
      try {
        await writeFile(join(otherFolder, 'market.csv'), 'date,identifier,CLOSE\n2020-01-02,A,1\n2020-01-03,A,2\n');
        const refusal = await runOnHome(['import', otherFolder, '--id', 'elsewhere']);
        expect([refusal.status, refusal.err.split('\n').at(-2)]).toEqual([
          2,
          `  Allowed are folders under ${folder} (--data-roots, DIVISOR_DATA_ROOTS) and databases on localhost, 127.0.0.1, ::1 (DIVISOR_DATABASE_HOSTS).`,
        ]);
        const allowedOutcome = await runOnHome([
          'import',
          otherFolder,
          '--id',
          'elsewhere',
          '--data-roots',
          otherFolder,
        ]);
        expect([allowedOutcome.status, allowedOutcome.err]).toEqual([0, '']);
      } finally {
        await rm(otherFolder, { recursive: true });
      }
    });

    test('a service serves the table that a command has registered in its working folder, and no other file there', async () => {
      const workingFolder = await mkdtemp(join(tmpdir(), 'divisor-desk-'));
      const ownHome = join(workingFolder, 'var');
      const rows = 'date,identifier,CLOSE\n2024-01-02,A,1\n2024-01-03,A,2\n';
      for (const name of ['prices.csv', 'other.csv']) await writeFile(join(workingFolder, name), rows);
      try {
        const words = ['import', 'prices.csv', '--id', 'own', '--activate', '--home', ownHome];
        const command = runDivisor(words, {}, workingFolder);
        expect([await command.ended, command.err()]).toEqual([0, '']);
        const service = await startServiceHere(ownHome);
        try {
          const { call } = createDivisorClient({ url: service.url });
          expect(await call('listStores')).toMatchObject({
            active: 'own',
            stores: [{ status: 'ready', end: '2024-01-03' }],
          });
          const other = {
            name: 'other',
            kind: 'folder',
            location: workingFolder,
            tables: { market: 'other.csv' },
          } as const;
          await expect(call('createStore', { body: other })).rejects.toMatchObject({
            findings: [{ code: 'LOCATION_NOT_ALLOWED' }],
          });
          await expect(
            call('inspectData', { body: { location: workingFolder, tables: { market: 'other.csv' } } }),
          ).rejects.toMatchObject({ findings: [{ code: 'LOCATION_NOT_ALLOWED' }] });
        } finally {
          await service.stop();
        }
        const restrictedService = await startServiceHere(ownHome, ['--data-roots', ownHome]);
        try {
          const { stores } = await createDivisorClient({ url: restrictedService.url }).call('listStores');
          expect(stores).toMatchObject([{ status: 'error', error: { code: 'STORE_READ_FAILED' } }]);
        } finally {
          await restrictedService.stop();
        }
      } finally {
        await rm(workingFolder, { recursive: true });
      }
    });

    // The benchmark measures the kernels at their usual sizes, which takes seconds.
    test.runIf(IS_SOAK)('a benchmark of the machine reports its limits, kernels and jobs', async () => {
      const { status, out, err } = await runHere(['bench', '--assets', '20', '--years', '2']);
      expect([status, err]).toEqual([0, '']);
      const lines = toLines(out);
      expect([...new Set(lines.map(({ event }) => event))]).toEqual(['machine', 'kernel', 'work', 'result']);
      expect(lines.filter(({ event }) => event === 'work').map(({ work }) => work)).toEqual(GENERATED_WORK);
      for (const { rate } of lines.filter(({ event }) => event === 'kernel')) expect(rate).toBeGreaterThan(0);
    });

    test('the jobs of a benchmark run on an empty home, and each is reported with its time', async () => {
      const timings: WorkTiming[] = [];
      const watch = { begin: () => {}, progress: () => {}, end: (timing: WorkTiming) => void timings.push(timing) };
      const { url, stop } = await startServiceHere(toPath('bench'));
      await benchGeneratedWork(createDivisorClient({ url }), { assets: 20, years: 2 }, watch);
      await stop();
      expect(timings.map(({ work }) => work)).toEqual(GENERATED_WORK);
      for (const { seconds } of timings) expect(seconds).toBeGreaterThan(0);
    });
  });

  test('amendments are appended in the order of their dates, with the reason as the note, and earlier fields remain', async () => {
    const rule = { ...INDEX, id: 'AMENDED', name: 'Amended' };
    await writeFile(toPath('amended.json'), JSON.stringify(rule));
    const changes = { rebalance: { frequency: 'monthly' } };
    await writeFile(toPath('changes.json'), JSON.stringify(changes));
    expect((await runOnHome(['index', 'put', toPath('amended.json')])).status).toBe(0);
    const runAmend = (...flags: string[]) => runOnHome(['index', 'amend', 'AMENDED', toPath('changes.json'), ...flags]);
    expect((await runAmend()).err).toContain('requires --from');
    const dateFlags = ['--from', '2022-03-01', '--announced', '2022-02-01', '--reason', 'Monthly'];
    expect((await runAmend(...dateFlags)).status).toBe(0);
    expect((await runAmend('--from', '2021-03-01', '--note', 'Earlier', '--rebalance')).status).toBe(0);
    const shownIndex = JSON.parse((await runOnHome(['index', 'show', 'AMENDED', '--json'])).out) as { result: object };
    expect(shownIndex.result).toMatchObject({
      ...rule,
      amendments: [
        { effective_from: '2021-03-01', rebalance: true, changes },
        { effective_from: '2022-03-01', announced: '2022-02-01', reason: 'Monthly', changes },
      ],
    });
    const versions = toLines((await runOnHome(['index', 'versions', 'AMENDED'])).out);
    expect(versions.flatMap(({ note }) => note ?? [])).toEqual(['Earlier', 'Monthly']);
  });

  describe('exports and imports on a home', () => {
    test('a table goes to a pipe as CSV, cut to its dates', async () => {
      await runOnHome(['backtest', 'EVEN', '--document', toPath('even.json'), '--cost-bps', '5']);
      const { status, out, err } = await runOnHome(['export', 'weights', '--index', 'EVEN', '--start', '2022-12-29']);
      expect([status, err]).toEqual([0, '']);
      const [header, ...rows] = out.trim().split('\r\n');
      expect(header).toBe('date,identifier,weight,index_weight,portfolio_weight');
      expect(rows.map((row) => row.split(',').slice(0, 2).join(' '))).toEqual(
        ['2022-12-29', '2022-12-30'].flatMap((date) => ['A', 'B', 'C', 'D'].map((name) => `${date} ${name}`)),
      );
    });

    test('a folder of vendor files becomes a served store by one command, and its mapping can be inspected first', async () => {
      const { bars, names } = await createVendorFiles();
      const lookedOutcome = await runOnHome(['inspect', toPath('vendor'), '--out', toPath('mapping.json')]);
      const settledFields =
        /^divisor (inspect|import): (zero_prices missing: 4 prices are 0|on_duplicate identical: 1 row repeats)/gm;
      expect([lookedOutcome.status, lookedOutcome.err.match(settledFields)?.length]).toEqual([0, 2]);
      const writtenMapping = JSON.parse(await readFile(toPath('mapping.json'), 'utf8')) as {
        readonly adjustment: string;
      };
      expect(writtenMapping).toMatchObject({
        mapping: {
          identifier_from: 'file:{identifier}_data.csv',
          on_duplicate: 'identical',
          zero_prices: 'missing',
          adjusted_close: 'Adj Close',
        },
      });
      const { status, out, err } = await runOnHome(
        ['import', toPath('vendor'), '--id', 'vendor', '--inspect', '--activate'],
        toPath('of-vendors'),
      );
      expect([status, err.match(settledFields)?.length]).toEqual([0, 2]);
      const { result } = toLines(out).at(-1) as unknown as {
        result: { identifiers: number; rows: { market: number } };
      };
      expect(result).toMatchObject({
        identifiers: names,
        active: true,
        rows: { market: bars },
        derived_actions: { splits: 0 },
        adjustment: writtenMapping.adjustment,
      });
      const byFile = await runOnHome(
        ['import', toPath('vendor'), '--id', 'again', '--mapping', toPath('mapping.json')],
        toPath('by-mapping'),
      );
      expect([byFile.status, byFile.err]).toEqual([0, '']);
      expect(toLines(byFile.out).at(-1)).toMatchObject({
        result: { adjustment: writtenMapping.adjustment, derived_actions: { splits: 0 }, rows: { market: bars } },
      });
    });
  });
}

/**
 * Writes files as vendors deliver them. Each security has a file. The files have a duplicate row, a day without prices,
 * and dividends that only the adjusted close reflects.
 */
async function createVendorFiles(): Promise<{ readonly bars: number; readonly names: number }> {
  await mkdir(toPath('vendor'));
  const days = Array.from({ length: 24 }, (_, t) => new Date(Date.UTC(2020, 0, 1 + t)).toISOString().slice(0, 10));
  let bars = 0;
  const names = IS_SOAK ? 482 : 16;
  for (let n = 0; n < names; n++) {
    const lines = ['Date,Open,High,Low,Close,Adj Close,Volume,Note'];
    for (const [t, day] of days.entries()) {
      const close = (20 + n / 10 + Math.sin(t + n)).toFixed(2);
      const barText =
        n === 7 && t === 20
          ? '0,0,0,0,0,0'
          : [close, close, close, close, (Number(close) * (t < 15 ? 0.99 : 1)).toFixed(6), 1000 + t].join(',');
      lines.push(...Array.from({ length: n === 3 && t === 9 ? 2 : 1 }, () => `${day},${barText},vendor`));
      bars += 1;
    }
    await writeFile(toPath(`vendor/N${n}_data.csv`), `${lines.join('\n')}\n`);
  }
  return { bars, names };
}
