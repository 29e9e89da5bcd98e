import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OverviewView } from '#contract/analytics/analytics.js';
import type { Methodology } from '#contract/indices/definitions.js';
import type { PreviewResponse, WhatIfResponse } from '#contract/indices/previews.js';
import type { Finding } from '#domain/base/findings.js';
import { readPdf } from '../../views/report/read-pdf.js';
import { runService, type RunningService } from '../running-service.js';

/** Service with assumptions about a store. They must be reported wherever a definition depends on them. */
let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const DAYS = Array.from({ length: 30 }, (_, i) => new Date(Date.UTC(2024, 0, 2 + i)))
  .filter((day) => day.getUTCDay() % 6 !== 0)
  .map((day) => day.toISOString().slice(0, 10));
const createMarket = (names: Readonly<Record<string, (t: number) => number>>) => ({
  index: DAYS.flatMap((_, t) => Object.keys(names).map((__, n) => 10 * t + n)),
  columns: ['identifier', 'date', 'CLOSE'],
  data: DAYS.flatMap((day, t) => Object.entries(names).map(([name, priceAt]) => [name, day, priceAt(t)])),
});
const TWO_SECURITIES = { A: (t: number) => 100 + t, B: (t: number) => 50 + (t % 5) };
const INDEX = {
  id: 'X',
  name: 'X',
  calendar: 'XNYS',
  base_date: '2024-01-02',
  rebalance: { frequency: 'none' },
  pipeline: { treatment: { dividends: 'price' }, weighting: { type: 'EqualWeight' } },
};

async function serve(store: object): Promise<void> {
  const { status, body } = await service.ask('POST', '/data/import', {
    store_id: 'prices',
    name: 'prices',
    on_exists: 'replace',
    activate: true,
    ...store,
  });
  expect(status, JSON.stringify(body)).toBe(201);
}

async function run(indexId: string): Promise<readonly Finding[]> {
  const { status, body } = await service.ask('POST', `/analytics/${indexId}/backtest`);
  expect(status, JSON.stringify(body)).toBe(202);
  const job = await service.waitForJob(`backtest:${indexId}`);
  expect(job.error).toBeNull();
  return (job.result as { findings: Finding[] }).findings;
}

const ASSUMPTIONS: ReadonlySet<string> = new Set([
  'PRICE_BASIS',
  'NO_DIVIDENDS',
  'CURRENCY_ASSUMED',
  'UNKNOWN_IDENTIFIER',
]);

/** Returns the assumptions for each response that reports them. */
async function listFindings(document: Readonly<Record<string, unknown>> & { readonly id: string }) {
  const listCodes = (findings: readonly Finding[]) =>
    findings.filter(({ code }) => ASSUMPTIONS.has(code)).map(({ code, path }) => `${code} ${path}`);
  expect((await service.ask('PUT', `/indices/${document.id}`, document)).status).toBe(200);
  return {
    validate: listCodes(
      (await service.ask<{ findings: Finding[] }>('POST', '/indices/validate', document)).body.findings,
    ),
    preview: listCodes(
      (await service.ask<PreviewResponse>('POST', `/indices/${document.id}/preview`, { as_of: '2024-01-10' })).body
        .findings as Finding[],
    ),
    whatIf: listCodes(
      (
        await service.ask<WhatIfResponse>('POST', '/indices/whatif', {
          index_id: document.id,
          patch: { name: 'Y' },
          as_of: '2024-01-10',
        })
      ).body.findings as Finding[],
    ),
    run: listCodes(await run(document.id)),
  };
}
const expectEverywhere = (...codes: string[]) => ({ validate: codes, preview: codes, whatIf: codes, run: codes });

describe('the price basis', () => {
  test('of prices that include dividends is reported by every view of an index, and of an index derived from it', async () => {
    await serve({
      adjustment: 'total',
      tables: {
        market: createMarket(TWO_SECURITIES),
        reference: {
          index: [0, 1],
          columns: ['identifier', 'CURRENCY'],
          data: [
            ['A', 'USD'],
            ['B', 'USD'],
          ],
        },
      },
    });
    expect(await listFindings(INDEX)).toEqual(expectEverywhere('PRICE_BASIS pipeline.treatment.dividends'));
    const { body: saved } = await service.ask<{ index: Readonly<Record<string, unknown>> & { id: string } }>(
      'POST',
      '/indices/X/optimise',
      { id: 'CHILD', name: 'Child' },
    );
    expect(await listFindings(saved.index)).toEqual(expectEverywhere('PRICE_BASIS derivation.source_index_id'));

    expect((await service.ask<OverviewView>('GET', '/analytics/X/overview')).body.return_variant).toBe('total');
    expect((await service.ask('GET', '/analytics/X/levels')).body).toMatchObject({ variant: 'total' });
    expect(await service.refusal('GET', '/analytics/X/levels?variant=price')).toMatchObject({
      status: 422,
      code: 'VARIANT_NOT_AVAILABLE',
      detail: { variant: 'price', accepted: ['total'] },
    });
    expect((await service.ask<{ reconciles: boolean }>('GET', '/analytics/X/reconcile')).body.reconciles).toBe(true);
    for (const id of ['X', 'CHILD']) {
      const sentences = (await service.ask<Methodology>('GET', `/indices/${id}/methodology`)).body.sentences
        .map(({ text }) => text)
        .join(' ');
      expect(sentences).toContain('Prices include dividends of every kind, so it is a total return index');
      expect(sentences).not.toContain('price return');
    }
  });

  test('is printed on the factsheet', async () => {
    const { body } = await service.ask<{ job_id: string }>('POST', '/reports/render', {
      template_id: 'FACTSHEET-A4',
      index_id: 'X',
    });
    const job = await service.waitForJob(body.job_id);
    const { render_id } = job.result as { render_id: string };
    const pages = readPdf(
      new Uint8Array(await (await service.download(`/reports/renders/${render_id}`)).arrayBuffer()),
    ).pages;
    expect(pages[0]!.texts.map(({ text }) => text).join(' ')).toContain('USD, total return');
  });

  test('of a store without a dividend is reported to an index that needs dividends', async () => {
    await serve({
      adjustment: 'splits',
      tables: {
        market: createMarket(TWO_SECURITIES),
        reference: {
          index: [0, 1],
          columns: ['identifier', 'CURRENCY'],
          data: [
            ['A', 'USD'],
            ['B', 'USD'],
          ],
        },
      },
    });
    expect(await listFindings(INDEX)).toEqual(expectEverywhere());
    const pipeline = { ...INDEX.pipeline, treatment: { dividends: 'net', withholding_tax: 0.15 } };
    expect(await listFindings({ ...INDEX, pipeline })).toEqual(
      expectEverywhere('NO_DIVIDENDS pipeline.treatment.dividends'),
    );
  });
});

describe('the currency of a store', () => {
  const FX = { ...TWO_SECURITIES, EURUSD: (t: number) => 1.1 + t / 100 };
  const change = async (request: object) =>
    expect((await service.ask('PATCH', '/data/stores/prices', request)).status).toBe(200);
  const readLastLevel = async (indexId: string) =>
    (await service.ask<{ levels: { data: number[] } }>('GET', `/analytics/${indexId}/levels`)).body.levels.data.at(-1)!;
  const createIndexBody = (currency: string) => ({
    ...INDEX,
    currency,
    universe: { kind: 'list', identifiers: ['A', 'B'] },
  });
  const t = DAYS.length - 1;
  const ownLevel = 50 * (TWO_SECURITIES.A(t) / TWO_SECURITIES.A(0) + TWO_SECURITIES.B(t) / TWO_SECURITIES.B(0));

  test('is assumed to be that of the index, and reported, while it is undeclared', async () => {
    await serve({ tables: { market: createMarket(FX) } });
    expect((await service.ask('GET', '/data/stores/prices')).body).toMatchObject({ currency: null });
    expect(await listFindings(createIndexBody('EUR'))).toEqual(expectEverywhere('CURRENCY_ASSUMED currency'));
    expect(await readLastLevel('X')).toBeCloseTo(ownLevel, 9);
  });

  test('converts once it is declared, for runs, previews and validations of a store that remains served', async () => {
    const before = (await service.ask<{ run_hash: string; store_content_hash: string }>('GET', '/analytics/X/record'))
      .body;
    await change({ currency: 'USD' });
    expect((await service.ask('GET', '/data/stores/prices')).body).toMatchObject({ currency: 'USD', active: true });
    expect(await listFindings(createIndexBody('EUR'))).toEqual(expectEverywhere());
    expect(await readLastLevel('X')).toBeCloseTo((ownLevel * FX.EURUSD(0)) / FX.EURUSD(t), 9);
    const after = (
      await service.ask<{ run_hash: string; store_content_hash: string; full_run_reason: string }>(
        'GET',
        '/analytics/X/record',
      )
    ).body;
    expect(after.full_run_reason).toBe('history_changed');
    expect(after.store_content_hash).toBe(before.store_content_hash); // the values are unchanged
    expect(after.run_hash).not.toBe(before.run_hash);
    await change({ currency: 'EUR' });
    await listFindings(createIndexBody('EUR'));
    expect(await readLastLevel('X')).toBeCloseTo(ownLevel, 9);
  });

  test('without a rate to that of the index refuses a run with the missing pair', async () => {
    await change({ currency: 'JPY' });
    const { body } = await service.ask<{ findings: Finding[] }>('POST', '/indices/validate', createIndexBody('EUR'));
    expect(body.findings).toMatchObject([{ severity: 'warning', code: 'FX_MISSING', value: 'JPYEUR' }]);
    await service.ask('POST', '/analytics/X/backtest');
    expect((await service.waitForJob('backtest:X')).error).toMatchObject({
      code: 'FX_MISSING',
      detail: { pair: 'JPYEUR' },
    });
    expect(await service.refusal('POST', '/indices/X/preview', { as_of: '2024-01-10' })).toMatchObject({
      status: 422,
      code: 'FX_MISSING',
    });
  });

  test('is kept over a restart and an append, and removed by null', async () => {
    await change({ currency: 'USD' });
    await service.restart();
    expect(
      (
        await service.ask<{ findings: Finding[] }>('POST', '/indices/validate', createIndexBody('EUR'))
      ).body.findings.map(({ code }) => code),
    ).toEqual([]);
    const laterRows = { index: [0], columns: ['identifier', 'date', 'CLOSE'], data: [['A', '2024-02-01', 131]] };
    const append = { store_id: 'prices', name: 'prices', on_exists: 'append', tables: { market: laterRows } };
    expect(await service.refusal('POST', '/data/import', { ...append, currency: 'EUR' })).toMatchObject({
      status: 422,
      detail: { findings: [{ code: 'NOT_IN_CHOICES', path: 'currency', accepted: ['USD'], value: 'EUR' }] },
    });
    expect((await service.ask('POST', '/data/import', append)).body).toMatchObject({ store: { currency: 'USD' } });
    await change({ currency: null });
    expect(
      (
        await service.ask<{ findings: Finding[] }>('POST', '/indices/validate', createIndexBody('EUR'))
      ).body.findings.map(({ code }) => code),
    ).toEqual(['CURRENCY_ASSUMED']);
  });

  test('is declared by an import, a folder and a synthetic market as well', async () => {
    await serve({ currency: 'GBX', tables: { market: createMarket(TWO_SECURITIES) } });
    expect((await service.ask('GET', '/data/stores/prices')).body).toMatchObject({ currency: 'GBX' });
    expect(
      await service.refusal('POST', '/data/import', {
        store_id: 'other',
        name: 'x',
        currency: 'euro',
        tables: { market: createMarket(TWO_SECURITIES) },
      }),
    ).toMatchObject({ status: 422, detail: { findings: [{ path: 'currency' }] } });
    const folder = join(service.root, 'folder');
    await mkdir(folder);
    await writeFile(join(folder, 'market.csv'), 'identifier,date,CLOSE\nA,2024-01-02,100\nA,2024-01-03,101\n');
    expect(
      (
        await service.ask('POST', '/data/stores', {
          name: 'Folder',
          store_id: 'folder',
          kind: 'folder',
          location: folder,
          currency: 'CHF',
        })
      ).body,
    ).toMatchObject({ currency: 'CHF' });
    const result = await service.ask<{ job_id: string }>('POST', '/data/synthetic', {
      store_id: 'made',
      assets: 3,
      start: '2024-01-02',
      end: '2024-03-28',
      currency: 'JPY',
      activate: false,
    });
    expect((await service.waitForJob(result.body.job_id)).result).toMatchObject({ currency: 'JPY' });
  });
});

describe('a security that the store does not contain', () => {
  test('is reported by every view of the index that lists it, of an index derived from it, and of a constraint set', async () => {
    await serve({ adjustment: 'splits', currency: 'USD', tables: { market: createMarket(TWO_SECURITIES) } });
    const rules = [{ id: 'in', type: 'IncludeList', params: { identifiers: ['A', 'B', 'C'] } }];
    const listing = { ...INDEX, id: 'LIST', pipeline: { ...INDEX.pipeline, selection: rules } };
    expect(await listFindings(listing)).toEqual(
      expectEverywhere('UNKNOWN_IDENTIFIER pipeline.selection[0].params.identifiers[2]'),
    );
    const constraints = [
      { id: 'short', type: 'PositionBounds', params: { lower: -0.1, upper: -0.1, identifiers: ['BB'] } },
    ];
    const { body } = await service.ask<{ index: Readonly<Record<string, unknown>> & { id: string } }>(
      'POST',
      '/indices/LIST/optimise',
      { id: 'SHORT', name: 'Short', constraints },
    );
    expect(await listFindings(body.index)).toEqual({
      ...expectEverywhere('UNKNOWN_IDENTIFIER derivation.constraints[0].params.identifiers[0]'),
    });
    const constraintSet = { id: 'rows', name: 'Rows', constraints };
    const report = { findings: [{ path: 'constraints[0].params.identifiers[0]', row_id: 'short', value: 'BB' }] };
    expect((await service.ask('POST', '/optimise/constraint-sets/validate', constraintSet)).body).toMatchObject(report);
    expect((await service.ask('POST', '/optimise/constraint-sets', constraintSet)).body).toMatchObject(report);
  });
});
