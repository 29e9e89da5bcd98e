import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { readPdf } from '../../views/report/read-pdf.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const BASE = { calendar: 'XNYS', base_date: '2022-06-01', base_value: 1000 } as const;
const DOUBLE = { ...BASE, id: 'DOUBLE', name: 'Double', kind: 'overlay', source_index_id: 'TOP' } as const;
const twiceLeverage = { type: 'leverage', factor: 2 } as const;

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 11, assets: 12, start: '2021-06-01', end: '2022-12-30' },
  });
  const selection = [{ id: 'top', type: 'TopN' as const, params: { count: 6 } }];
  const pipeline = { selection, weighting: { type: 'MarketCapWeight' } } as const;
  await client.call('createIndex', {
    body: { ...BASE, id: 'TOP', name: 'Top', rebalance: { frequency: 'monthly' }, pipeline },
  });
  await client.run('startBacktest', { params: { index_id: 'TOP' }, body: {} });
  await client.call('createIndex', { body: { ...DOUBLE, overlay: twiceLeverage } });
  await client.run('startBacktest', { params: { index_id: 'DOUBLE' }, body: { end: '2022-11-30' } });
  const extendedAnswer = await client.run('startBacktest', { params: { index_id: 'DOUBLE' }, body: {} });
  expect([extendedAnswer.extended_from, extendedAnswer.full_run_reason]).toEqual(['2022-11-30', null]);
});
afterAll(() => service.close());

const params = { index_id: 'DOUBLE' };
const readLevels = async (index_id: string, variant: 'price' | 'total') =>
  (await client.call('getLevels', { params: { index_id }, query: { variant } })).levels.data.map(Number);

test('twice the return in every return variant, contributions of securities and parts sum to the total return', async () => {
  for (const variant of ['price', 'total'] as const) {
    const [doubleLevels, topLevels] = [await readLevels('DOUBLE', variant), await readLevels('TOP', variant)];
    let level = 1000;
    for (let t = 1; t < doubleLevels.length; t++) {
      level *= 1 + 2 * (topLevels[t]! / topLevels[t - 1]! - 1);
      expect(doubleLevels[t]! / level).toBeCloseTo(1, 12);
    }
  }
  const view = await client.call('getAttribution', { params, query: {} });
  const sum = view.contributions.reduce((all, { contribution }) => all + contribution, 0);
  expect(sum).toBeCloseTo(view.total_return, 12);
  const financing = view.overlay_parts!.find(({ part }) => part === 'financing')!.contribution;
  expect(view.contributions.filter(({ asset_id: id }) => id.includes('/'))).toEqual([
    { asset_id: 'overlay/DOUBLE/financing', average_weight: 0, contribution: financing, total_return: 0 },
  ]);
  const beneathView = await client.call('getAttribution', { params: { index_id: 'TOP' }, query: {} });
  expect(beneathView.overlay_parts_sum).toBeNull();
  expect(beneathView.contributions_sum).toBeCloseTo(beneathView.total_return, 12);
  expect(view.overlay_parts!.map(({ index_id, part }) => [index_id, part])).toEqual([['DOUBLE', 'financing']]);
  const { body } = await service.ask<{ readonly columns: string[]; readonly data: (string | number | null)[][] }>(
    'GET',
    '/analytics/DOUBLE/exports/attribution?format=json',
  );
  const { columns, data } = body;
  const findColumn = (name: string) => data.map((row) => row[columns.indexOf(name)]);
  expect(findColumn('contribution').reduce<number>((all, each) => all + Number(each), 0)).toBeCloseTo(
    view.total_return,
    12,
  );
  const [part] = data.slice(view.contributions.length - 1);
  expect(part).toEqual(['DOUBLE', view.overlay_parts![0]!.contribution, 0, null, 'financing']);
  const { weights } = await client.call('getWeights', { params, query: {} });
  expect(weights.at(-1)).toMatchObject({ identifier: 'CASH/USD', weight: expect.closeTo(-1, 12) });
  expect(weights.reduce((all, { weight }) => all + weight, 0)).toBeCloseTo(1, 12);
});

test('contributions of securities and of the parts of an overlay sum together, and the answer states this', async () => {
  const of = { index_id: 'COSTLY' };
  const fee = { ...DOUBLE, id: 'COSTLY', overlay: { type: 'fee', percent: 5 } } as const;
  await client.call('createIndex', { body: fee });
  await client.run('startBacktest', { params: of, body: {} });
  const view = await client.call('getAttribution', { params: of, query: {} });
  const days = (Date.parse('2022-12-30') - Date.parse('2022-06-01')) / 86_400_000;
  const [levels, topLevels] = [await readLevels('COSTLY', 'price'), await readLevels('TOP', 'price')];
  expect(levels.at(-1)! / levels[0]!).toBeCloseTo((topLevels.at(-1)! / topLevels[0]!) * 0.95 ** (days / 365), 10);
  expect(view.overlay_parts_sum).toBeLessThan(-0.02);
  const contributionSum = view.contributions.reduce((all, { contribution }) => all + contribution, 0);
  expect(contributionSum).toBeCloseTo(view.total_return, 12);
  expect(view.contributions_sum).not.toBeCloseTo(view.total_return, 2);
  expect(view.contributions_sum + view.overlay_parts_sum!).toBeCloseTo(view.total_return, 12);
  await client.call('deleteIndex', { params: of });
});

test('the preview of an overlay has its holdings after the close, through the underlying index', async () => {
  const requestPreviewOn = (as_of: string | null) => client.call('previewIndex', { params, body: { as_of } });
  for (const date of ['2022-10-31', '2022-11-16']) {
    const preview = await requestPreviewOn(date);
    const { weights } = await client.call('getWeights', { params, query: { as_of: date } });
    expect(preview.assets.map(({ identifier }) => identifier)).toEqual(weights.map(({ identifier }) => identifier));
    for (const { identifier, weight } of weights) expect(preview.weights[identifier]).toBeCloseTo(weight, 12);
    expect(preview).toMatchObject({
      resolved_date: date,
      total_weight: expect.closeTo(1, 12),
      steps: [{ position: 0, remaining: weights.length - 1, excluded: [], rule_id: null, rule_type: null }],
      solve: null,
      overlay: { type: 'leverage', index_ids: ['TOP'] },
    });
  }
  expect(await requestPreviewOn(null)).toMatchObject({ as_of: '2022-06-01', total_weight: expect.closeTo(1, 12) });
  await expect(requestPreviewOn('2022-05-31')).rejects.toMatchObject({ code: 'NO_DATA_AT_DATE' });
  const document = { ...DOUBLE, id: 'SENT', overlay: { type: 'fee', percent: 1 } } as const;
  const sentAnswer = await client.call('previewDocument', { body: { document, as_of: '2022-11-16' } });
  expect([sentAnswer.index_version, sentAnswer.total_weight]).toEqual([null, expect.closeTo(1, 12)]);
});

test('with a row of cash, every table of weights of an overlay sums to 1: borrowed, lent, held short and converted', async () => {
  const overlays = {
    'L-DOUBLE': [{ type: 'leverage', factor: 2 }, -1],
    'L-SHORT': [{ type: 'leverage', factor: -1 }, 2],
    'L-HALF': [{ type: 'leverage', factor: 0.5 }, 0.5],
    'L-FEE': [{ type: 'fee', percent: 1 }, 0],
  } as const;
  const sum = (weights: readonly number[]) => weights.reduce((all, weight) => all + weight, 0);
  for (const [id, [overlay, cash]] of Object.entries(overlays)) {
    await client.call('createIndex', { body: { ...DOUBLE, id, overlay } });
    await client.run('startBacktest', { params: { index_id: id }, body: {} });
    const { body: table } = await service.ask<{ readonly columns: string[]; readonly data: (string | number)[][] }>(
      'GET',
      `/analytics/${id}/exports/weights?format=json`,
    );
    const column = table.columns.indexOf('weight');
    for (const date of new Set(table.data.map(([day]) => day))) {
      const rows = table.data.filter(([day]) => day === date);
      expect(sum(rows.map((row) => Number(row[column])))).toBeCloseTo(1, 12);
      const last = rows.at(-1)!;
      if (cash === 0) expect(String(last[1])).not.toContain('/');
      else expect([last[1], last[column]]).toEqual(['CASH/USD', expect.closeTo(cash, 12)]);
    }
    const record = await client.call('getRecord', { params: { index_id: id } });
    const frame = record.index.target!.weights;
    expect(frame.columns.at(-1) === 'CASH/USD').toBe(cash !== 0);
    for (const row of frame.data) expect(sum(row.map(Number))).toBeCloseTo(1, 12);
    expect(record.portfolio.weights).toEqual(frame);
    for (const { weights, uncapped_weights: uncapped } of record.index.target!.rebalances) {
      expect(weights['CASH/USD'] ?? 0).toBeCloseTo(cash, 12);
      expect([sum(Object.values(weights)), sum(Object.values(uncapped))]).toEqual([
        expect.closeTo(1, 12),
        expect.closeTo(1, 12),
      ]);
    }
    const { weights } = await client.call('getWeights', {
      params: { index_id: id },
      query: { risk: true, benchmark: 'TOP' },
    });
    expect(sum(weights.map(({ active_weight: active }) => active!))).toBeCloseTo(0, 12);
    if (cash !== 0) expect(weights.at(-1)).toMatchObject({ identifier: 'CASH/USD', risk_contribution: 0 });
    await client.call('deleteIndex', { params: { index_id: id } });
  }
});

test('the levels of an unsaved document are those of its run', async () => {
  const { level, volatility, exposure } = await client.call('sketchLevel', {
    body: { document: { ...DOUBLE, overlay: twiceLeverage } },
  });
  expect([volatility.data[0], exposure]).toEqual([null, null]);
  expect(volatility.data.at(-1)).toBeGreaterThan(0);
  const { levels } = await client.call('getLevels', { params, query: { variant: 'price' } });
  const levelOn = new Map(levels.index.map((date, k) => [String(date).slice(0, 10), Number(levels.data[k])]));
  expect([level.index.length, level.index[0], level.index.at(-1)]).toEqual([80, '2022-06-01', '2022-12-30']);
  level.data.forEach((value, k) => expect(Number(value) / levelOn.get(String(level.index[k]))!).toBeCloseTo(1, 12));
  const body = { document: { ...DOUBLE, source_index_id: 'NONE', overlay: twiceLeverage } };
  await expect(client.call('sketchLevel', { body })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
});

test('an unknown member is an error, which names the one that may be meant', async () => {
  const body = { ...DOUBLE, id: 'ODD', overlay: { ...twiceLeverage, finnancing: 'SOFR' }, tagz: [] };
  const { status, body: refused } = await service.ask('PUT', '/indices/ODD', body);
  expect(status).toBe(422);
  expect(refused).toMatchObject({
    error: {
      detail: {
        findings: [
          {
            severity: 'error',
            code: 'UNKNOWN_FIELD',
            path: 'overlay.finnancing',
            message: 'Unknown field finnancing. Did you mean financing?',
          },
          { severity: 'warning', code: 'UNKNOWN_FIELD', path: 'tagz' },
        ],
      },
    },
  });
  const draft = { ...DOUBLE, id: 'ODD', overlay: { type: 'blend', parts: [{ index_id: 'TOP', weight: 1, size: 2 }] } };
  const { source_index_id: _, ...blend } = draft;
  expect((await service.ask('POST', '/indices/validate', blend)).body).toMatchObject({
    valid: false,
    findings: [{ severity: 'error', code: 'UNKNOWN_FIELD', path: 'overlay.parts[0].size' }],
  });
});

test('the next rebalances of an overlay are those of the underlying index', async () => {
  const readSchedule = (index_id: string) =>
    client.call('getSchedule', { params: { index_id }, query: { as_of: '2022-12-30' } });
  const [doubleSchedule, topSchedule] = [await readSchedule('DOUBLE'), await readSchedule('TOP')];
  expect(topSchedule.frequency).toBe('monthly');
  expect({ ...doubleSchedule, index_id: 'TOP' }).toEqual(topSchedule);
  const { events } = await client.call('listEvents', { query: { from: '2023-01-01', to: '2023-06-30' } });
  const listDays = (id: string) => events.filter(({ index_id }) => index_id === id).map(({ date }) => date);
  expect(listDays('DOUBLE')).toEqual(listDays('TOP'));
  expect(listDays('TOP').length).toBeGreaterThan(4);
});

test('every view of a run of an overlay answers as that of the underlying index, and the run reconciles', async () => {
  const views = ['overview', 'record', 'rebalances', 'performance', 'total-risk', 'rolling', 'limits', 'exposures'];
  const otherViews = [
    'dividend-points',
    'attribution/groups?by=SECTOR',
    'exports/weights',
    'exports/trades',
    'exports/events',
  ];
  const readStatus = async (id: string, view: string) => (await service.ask('GET', `/analytics/${id}/${view}`)).status;
  for (const view of [...views, ...otherViews])
    expect([view, await readStatus('DOUBLE', view)]).toEqual([view, await readStatus('TOP', view)]);
  const { checks } = await client.call('reconcileRun', { params });
  expect(checks.filter(({ holds }) => !holds)).toEqual([]);
});

test('a strategy on an overlay and an overlay of another calendar reconcile, and are extended when run again', async () => {
  await client.call('createIndex', { body: { ...DOUBLE, id: 'LONDON', calendar: 'XLON', overlay: twiceLeverage } });
  await client.call('createStrategy', { body: { id: 'HALF', name: 'Half', index_id: 'DOUBLE', exposure: 0.5 } });
  for (const index_id of ['LONDON', 'HALF']) {
    await client.run('startBacktest', { params: { index_id }, body: { end: '2022-11-30' } });
    const secondRun = await client.run('startBacktest', { params: { index_id }, body: {} });
    expect([secondRun.extended_from, secondRun.full_run_reason]).toEqual(['2022-11-30', null]);
    const { checks } = await client.call('reconcileRun', { params: { index_id } });
    expect(checks.filter(({ holds }) => !holds)).toEqual([]);
  }
  const { weights } = await client.call('getWeights', { params: { index_id: 'HALF' }, query: { as_of: '2022-06-01' } });
  expect(weights.reduce((all, { weight }) => all + weight, 0)).toBeCloseTo(1, 12);
  const { frequency, calendar } = await client.call('getSchedule', { params: { index_id: 'LONDON' }, query: {} });
  expect([frequency, calendar]).toEqual(['monthly', 'XNYS']);
});

test('an overlay explains itself, and a variant of it can be swept', async () => {
  const { sentences } = await client.call('getMethodology', { params });
  const text = sentences.map((one) => one.text).join(' ');
  expect(text).toContain('It is an overlay on the index TOP.');
  expect(text).toContain('2 times the return of the underlying index');
  const sweep = await client.run('startSweep', {
    body: { index_id: 'DOUBLE', grid: { '/document/overlay/factor': [1, 2] }, rank_by: 'total_return' },
  });
  const returns = new Map(sweep.rows.map(({ patch, metrics }) => [JSON.stringify(patch), metrics?.total_return]));
  const top = await readLevels('TOP', 'price');
  expect(returns.get('{"/document/overlay/factor":1}')).toBeCloseTo(top.at(-1)! / top[0]! - 1, 12);
});

test('a rate that the store lacks is refused with its name before a job is created, also underneath and in a sweep', async () => {
  const yenIndex = { ...DOUBLE, id: 'YEN', overlay: { type: 'currency', to: 'JPY' } } as const;
  const fee = { ...DOUBLE, id: 'ON-YEN', source_index_id: 'YEN', overlay: { type: 'fee', percent: 1 } } as const;
  for (const body of [yenIndex, fee]) await client.call('createIndex', { body });
  const lacks = 'The store has no exchange rate USDJPY, which the overlay YEN needs.';
  for (const index_id of ['YEN', 'ON-YEN'])
    expect(await service.refusal('POST', `/analytics/${index_id}/backtest`, {})).toMatchObject({
      status: 422,
      detail: { findings: [{ code: 'FX_MISSING', path: 'overlay.to', message: lacks, value: 'USDJPY' }] },
    });
  const patches = [
    {},
    { '/document/source_index_id': 'ON-YEN', '/document/currency': 'JPY' },
    { '/document/overlay/factor': 0 },
    { '/document/source_index_id': 'GONE' },
  ];
  const sweptRefusal = await service.refusal('POST', '/analytics/sweeps', { index_id: 'DOUBLE', patches });
  expect(sweptRefusal.message).toBe('3 errors in the sweep: variants 1, 2 and 3 of 4 are refused.');
  expect(sweptRefusal.detail).toMatchObject({
    variants: [1, 2, 3],
    findings: [
      { code: 'FX_MISSING', path: 'patches[1]/document' },
      { code: 'OUT_OF_RANGE', path: 'patches[2]/document.overlay.factor' },
      { code: 'UNKNOWN_INDEX', path: 'patches[3]/document.source_index_id' },
    ],
  });
  for (const index_id of ['ON-YEN', 'YEN']) await client.call('deleteIndex', { params: { index_id } });
});

test('a report of several indices begins each on a new page, with the parts of overlays', async () => {
  const renderedAnswer = await client.run('renderReport', {
    body: { template_id: 'FACTSHEET-A4', index_ids: ['TOP', 'DOUBLE'] },
  });
  const answer = await service.download(`/reports/renders/${renderedAnswer.render_id}`);
  const bytes = new Uint8Array(await answer.arrayBuffer());
  if (process.env['REPORT_FILE']) writeFileSync(process.env['REPORT_FILE'], bytes);
  const { pages } = readPdf(bytes);
  const joinTexts = ({ texts }: (typeof pages)[number]): string => texts.map(({ text }) => text).join(' ');
  expect(pages.map((page) => /Index factsheet/.test(joinTexts(page)))).toEqual([true, false, true, false]);
  expect(pages.map((page) => /Return of the overlay/.test(joinTexts(page)))).toEqual([false, false, false, true]);
  expect(joinTexts(pages[2]!)).toMatch(/^Double/);
  expect(pages.filter((page) => /Definitions/.test(joinTexts(page)))).toHaveLength(1);
  await expect(
    client.run('renderReport', { body: { template_id: 'FACTSHEET-A4', index_id: 'TOP', index_ids: ['TOP'] } }),
  ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
});

interface FindingsBody {
  readonly findings: readonly { readonly severity: string; readonly path: string; readonly accepted?: string[] }[];
}
const listErrors = async (document: object) =>
  (await service.ask<FindingsBody>('POST', '/indices/validate', document)).body.findings.filter(
    ({ severity }) => severity === 'error',
  );

test('an overlay has the currency of its conversion or of its underlying index, and another stated one is refused', async () => {
  const overlay = { type: 'currency', to: 'EUR' } as const;
  const sentDocument = { ...DOUBLE, id: 'E', overlay } as const;
  const readCurrency = async (index_id: string) => (await client.call('getIndex', { params: { index_id } })).currency;
  await client.call('createIndex', { body: sentDocument });
  const parts = [{ index_id: 'E', weight: 1 }];
  const blend = { ...BASE, id: 'B', name: 'B', kind: 'overlay', overlay: { type: 'blend', parts } } as const;
  await client.call('createIndex', { body: blend });
  expect(await Promise.all(['E', 'B', 'DOUBLE'].map(readCurrency))).toEqual(['EUR', 'EUR', 'USD']);
  expect(await listErrors({ ...sentDocument, id: 'F', currency: 'USD' })).toMatchObject([
    { path: 'currency', accepted: ['EUR'] },
  ]);
  for (const index_id of ['B', 'E']) await client.call('deleteIndex', { params: { index_id } });
});

test('a basis other than 360 and 365 is refused with both, and costs of trading are refused before a job is created', async () => {
  const errors = await listErrors({ ...DOUBLE, overlay: { ...twiceLeverage, basis: 252 } });
  expect(errors).toMatchObject([{ path: 'overlay.basis', accepted: ['360', '365'] }]);
  const refusal = await service.refusal('POST', '/analytics/DOUBLE/backtest', { transaction_cost_bps: 5 });
  expect(refusal).toMatchObject({ status: 422, code: 'VALIDATION_FAILED' });
  const strategy = { id: 'HELD', name: 'Held', index_id: 'DOUBLE', rebalance: { frequency: 'monthly' } };
  const listFindings = async (body: object) =>
    (await service.ask<{ findings: object[] }>('POST', '/strategies/validate', { ...strategy, ...body })).body.findings;
  expect(await listFindings({})).toEqual([]);
  expect(await listFindings({ transaction_cost_bps: 5 })).toMatchObject([
    { severity: 'error', code: 'NOT_IN_CHOICES', path: 'transaction_cost_bps' },
  ]);
  expect(await listFindings({ index_id: 'TOP', transaction_cost_bps: 5 })).toEqual([]);
});

test('an overlay refuses circles, costs and decisions, and is deleted with its underlying index', async () => {
  const listFindings = async (body: object): Promise<unknown> => {
    const { body: report } = await service.ask<{ findings: { code: string; path: string }[] }>(
      'POST',
      '/indices/validate',
      body,
    );
    return report.findings
      .filter(({ code }) => !['CURRENCY_ASSUMED'].includes(code))
      .map(({ code, path }) => [code, path]);
  };
  const createBlend = (index_id: string) => ({ type: 'blend', parts: [{ index_id, weight: 1 }] });
  expect(
    await listFindings({ ...BASE, id: 'TOP', name: 'Top', kind: 'overlay', overlay: createBlend('DOUBLE') }),
  ).toEqual([['CIRCULAR_REFERENCE', 'overlay.parts[0].index_id']]);
  expect(await listFindings({ ...DOUBLE, id: 'B', overlay: { type: 'excess_return', cash: 'SOFR' } })).toEqual([
    ['UNKNOWN_IDENTIFIER', 'overlay.cash'],
  ]);
  expect(await listFindings({ ...DOUBLE, id: 'B', currency: 'EUR', overlay: twiceLeverage })).toEqual([
    ['NOT_IN_CHOICES', 'currency'],
  ]);
  expect(await listFindings({ ...DOUBLE, id: 'B', overlay: { type: 'decrement' } })).toEqual([
    ['REQUIRED', 'overlay.percent'],
  ]);
  const listHedgeFindings = (rest: object) =>
    listFindings({
      ...DOUBLE,
      id: 'B',
      overlay: { type: 'currency_hedged', to: 'USD', rates: { domestic: 'A' }, ...rest },
    });
  const euro = { currency: 'EUR', rate: 'B' };
  expect(await listHedgeFindings({})).toEqual([['REQUIRED', 'overlay.rates.foreign']]);
  expect(await listHedgeFindings({ currencies: [euro, euro] })).toEqual([
    ['DUPLICATE_ID', 'overlay.currencies[1].currency'],
  ]);
  expect(await listHedgeFindings({ currencies: [{ ...euro, currency: 'USD' }] })).toEqual([
    ['DUPLICATE_ID', 'overlay.currencies[0].currency'],
  ]);
  expect(await listHedgeFindings({ currencies: [euro] })).toEqual([
    ['NO_EFFECT', 'overlay.currencies[0]'],
    ['UNKNOWN_IDENTIFIER', 'overlay.currencies[0].rate'],
    ['UNKNOWN_IDENTIFIER', 'overlay.rates.domestic'],
    ['FX_MISSING', 'overlay.to'],
  ]);
  await expect(client.run('startBacktest', { params, body: { transaction_cost_bps: 5 } })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  const whatIf = client.call('whatIf', { body: { index_id: 'DOUBLE', patch: { overlay: { factor: 3 } } } });
  await expect(whatIf).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  await client.call('createConstraintSet', { body: { id: 'NONE', name: 'None', constraints: [] } });
  const call = client.call('startOptimisation', { body: { index_id: 'DOUBLE', constraint_set_id: 'NONE' } });
  await expect(call).rejects.toMatchObject({ detail: { findings: [{ path: 'index_id', accepted: ['TOP'] }] } });
  const { indices } = await client.call('listIndices', {});
  expect(indices.find(({ id }) => id === 'DOUBLE')).toMatchObject({ kind: 'overlay', source_index_id: 'TOP' });
  const { deleted } = await client.call('deleteIndex', { params: { index_id: 'TOP' } });
  expect(deleted.map(({ index_id }) => index_id)).toEqual(['TOP', 'DOUBLE', 'LONDON']);
});
