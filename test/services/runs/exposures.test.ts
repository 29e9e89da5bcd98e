import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient } from '#clients/typescript/divisor.js';
import { readWorkbook } from '../../views/exports/read-workbook.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const INDEX = {
  calendar: 'XNYS',
  base_date: '2022-06-01',
  base_value: 1000,
  rebalance: { frequency: 'quarterly' },
} as const;
const params = { index_id: 'TOP' };

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 11, assets: 12, start: '2021-06-01', end: '2022-12-30' },
  });
  const selection = [{ id: 'top', type: 'TopN' as const, params: { count: 6 } }];
  const byCap = { type: 'MarketCapWeight' } as const;
  const pipeline = { selection, weighting: byCap };
  await client.call('createIndex', { body: { ...INDEX, id: 'TOP', name: 'Top', pipeline } });
  const equalPipeline = { weighting: { type: 'EqualWeight' } } as const;
  await client.call('createIndex', { body: { ...INDEX, id: 'ALL', name: 'All', pipeline: equalPipeline } });
  await client.run('startBacktest', { params, body: {} });
});
afterAll(() => service.close());

test('a datapoint is averaged over the holdings, and over the holdings of the benchmark', async () => {
  const query = { interval: 'monthly', fields: ['MARKET_CAP', 'BETA'], benchmark: 'ALL' } as const;
  const view = await client.call('getExposures', { params, query });
  expect(view.fields.map(({ field }) => field)).toEqual(['MARKET_CAP', 'BETA']);
  const { mean, coverage, percentiles, benchmark } = view.fields[0]!;
  for (const date of ['2022-07-29', '2022-12-30']) {
    const k = view.dates.indexOf(date);
    const weightsView = await client.call('getWeights', { params, query: { as_of: date, benchmark: 'ALL' } });
    const caps = new Map<string, number>();
    for (const { identifier } of weightsView.weights) {
      const { prices } = await client.call('getPrices', { params: { identifier }, query: { end: date } });
      const last = prices.data.at(-1)!;
      const readLastPrice = (column: string) => Number(last[prices.columns.indexOf(column)]);
      caps.set(identifier, readLastPrice('CLOSE') * readLastPrice('SHARES_OUTSTANDING'));
    }
    const average = weightsView.weights.reduce(
      (sum, { identifier, weight }) => sum + weight * caps.get(identifier)!,
      0,
    );
    expect(mean[k]! / average).toBeCloseTo(1, 12);
    expect(coverage[k]).toBe(1);
    const sortedWeights = weightsView.weights.toSorted((a, b) => caps.get(a.identifier)! - caps.get(b.identifier)!);
    let countBelow = 0;
    const median = sortedWeights.find(({ weight }) => (countBelow += weight) >= 0.5)!;
    expect(percentiles.p50[k]! / caps.get(median.identifier)!).toBeCloseTo(1, 12);
  }
  benchmark!.mean.forEach((value, k) => {
    // the benchmark also holds the small securities
    expect(value).toBeLessThan(mean[k]!);
    expect(benchmark!.percentiles.p10[k]).toBeLessThan(percentiles.p10[k]!);
  });
  const { active_share: active, groups } = view;
  view.dates.forEach((_, k) => {
    expect(groups.reduce((sum, group) => sum + group.benchmark_weights![k]!, 0)).toBeCloseTo(1, 12);
    expect(active![k]).toBeGreaterThan(0);
  });
});

test('against itself an index has no active share, and every datapoint equals that of the benchmark', async () => {
  const query = { benchmark: 'TOP', fields: ['DIVIDEND_YIELD'], by: 'IDENTIFIER' };
  const view = await client.call('getExposures', { params, query });
  expect(view.active_share!.every((share) => share < 1e-12)).toBe(true);
  const [{ mean, benchmark }] = view.fields as [(typeof view.fields)[number]];
  mean.forEach((value, k) => expect(value).toBeCloseTo(benchmark!.mean[k]!, 12));
});

test('a benchmark is equal to the last bit by its stored run and by a new run', async () => {
  const pipeline = { weighting: { type: 'EqualWeight' as const } };
  await client.call('createIndex', { body: { ...INDEX, id: 'STORED', name: 'All', pipeline } });
  for (const interval of ['native', 'monthly'] as const) {
    const body = { transaction_cost_bps: 20, ...(interval === 'monthly' ? { start: '2022-09-01' } : {}) };
    await client.run('startBacktest', { params: { index_id: 'STORED' }, body }); // a shorter run replaces the stored run
    const query = { fields: ['MARKET_CAP', 'BETA'], by: 'COUNTRY', interval };
    const readView = (benchmark: string) => client.call('getExposures', { params, query: { ...query, benchmark } });
    expect(await readView('STORED')).toEqual({ ...(await readView('ALL')), benchmark: 'STORED' });
  }
});

test('turnover is that of the rebalances, wherever a window begins', async () => {
  const { rebalances } = await client.call('listRebalances', { params });
  // The first rebalance is the purchase.
  const turnoverSum = rebalances.slice(1).reduce((sum, { turnover }) => sum + (turnover ?? 0), 0);
  for (const interval of ['native', 'monthly'] as const) {
    const { turnover } = await client.call('getExposures', { params, query: { interval } });
    expect(turnover.reduce((sum, value) => sum + value, 0)).toBeCloseTo(turnoverSum, 12);
  }
});

test('data after a date changes nothing on it, and neither does data before the window', async () => {
  const query = { fields: ['BETA', 'MOMENTUM'], benchmark: 'ALL' };
  const wholeView = await client.call('getExposures', { params, query });
  const part = await client.call('getExposures', {
    params,
    query: { ...query, start: '2022-08-01', end: '2022-10-31' },
  });
  const from = wholeView.dates.indexOf(part.dates[0]!);
  const cut = <T>(values: readonly T[]): T[] => values.slice(from, from + part.dates.length);
  expect(part.dates).toEqual(cut(wholeView.dates));
  part.fields.forEach(({ mean, percentiles, benchmark }, f) => {
    expect(mean).toEqual(cut(wholeView.fields[f]!.mean));
    expect(percentiles.p25).toEqual(cut(wholeView.fields[f]!.percentiles.p25));
    expect(benchmark!.mean).toEqual(cut(wholeView.fields[f]!.benchmark!.mean));
  });
  expect(part.active_share).toEqual(cut(wholeView.active_share!));
  for (const { group, weights } of part.groups)
    expect(weights).toEqual(cut(wholeView.groups.find((other) => other.group === group)!.weights));
});

async function exportTable(table: 'exposures' | 'limits' | 'breaches', query: { by?: string } = {}) {
  const { columns, data } = await client.call('exportRun', { params: { ...params, table }, query });
  return data.map((row) => Object.fromEntries(columns.map((name, k) => [name, row[k]])));
}

test('exported groups are those of the exposures, date by date', async () => {
  for (const by of ['SECTOR', 'COUNTRY', 'IDENTIFIER']) {
    const { dates, groups } = await client.call('getExposures', { params, query: { by, groups: 100 } });
    const rows = await exportTable('exposures', { by });
    const shownWeights = groups.flatMap(({ group, weights }) =>
      dates.flatMap((date, k) => (weights[k] === 0 ? [] : [{ date, group, weight: weights[k] }])),
    );
    const orderedWeights = shownWeights.toSorted((a, b) => (a.date + a.group < b.date + b.group ? -1 : 1));
    expect(rows.map(({ date, group }) => ({ date, group }))).toEqual(
      orderedWeights.map(({ date, group }) => ({ date, group })),
    );
    rows.forEach(({ weight }, k) => expect(weight).toBeCloseTo(orderedWeights[k]!.weight!, 14));
    const names = rows.reduce((sum, row) => sum + (row['date'] === dates.at(-1) ? Number(row['names']) : 0), 0);
    expect(names).toBe(6);
  }
  await expect(
    client.call('exportRun', { params: { ...params, table: 'levels' }, query: { by: 'SECTOR' } }),
  ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
});

test('groups, datapoints and concentration as CSV and Arrow are those of the JSON, date by date', async () => {
  const query = { fields: ['DIVIDEND_YIELD', 'BETA'], benchmark: 'TOP', interval: 'monthly' } as const;
  const view = await client.call('getExposures', { params, query });
  const read = async (table: string | null, format: string): Promise<Response> => {
    const request = { ...query, fields: query.fields.join(','), format, ...(table === null ? {} : { table }) };
    const response = await service.download(`/analytics/TOP/exposures?${new URLSearchParams(request).toString()}`, {});
    expect(response.status).toBe(200);
    return response;
  };
  const readNumbers = async (table: string, column: string): Promise<(number | null)[]> => {
    const arrow = tableFromIPC(await (await read(table, 'arrow')).arrayBuffer());
    const [head, ...lines] = (await (await read(table, 'csv')).text()).trimEnd().split('\r\n');
    const position = head!.split(',').indexOf(column);
    const [shownNumbers, writtenNumbers] = [
      [...arrow.getChild(column)!] as (number | null)[],
      lines.map((line) => (line.split(',')[position] === '' ? null : Number(line.split(',')[position]))),
    ];
    expect(writtenNumbers).toEqual(shownNumbers);
    return shownNumbers;
  };
  const compareByDate = <T>(of: (t: number) => T[]): T[] => view.dates.flatMap((_, t) => of(t));
  expect(await readNumbers('groups', 'weight')).toEqual(
    compareByDate((t) => view.groups.map(({ weights }) => weights[t]!)),
  );
  expect(await readNumbers('fields', 'p75')).toEqual(
    compareByDate((t) => view.fields.map(({ percentiles }) => percentiles.p75[t]!)),
  );
  expect(await readNumbers('fields', 'benchmark_mean')).toEqual(
    compareByDate((t) => view.fields.map(({ benchmark }) => benchmark!.mean[t]!)),
  );
  expect(await readNumbers('concentration', 'effective')).toEqual(view.concentration.effective);
  expect(await readNumbers('concentration', 'active_share')).toEqual(view.active_share);
  expect((await (await read(null, 'csv')).text()).startsWith('date,field,mean,coverage')).toBe(true);
});

test('exported limits and breaches equal those of the view, rule by rule', async () => {
  const rows = await exportTable('limits');
  const breaches = await exportTable('breaches');
  for (const rule of ['UCITS_5_10_40', 'UCITS_20_35', 'RIC_25_5_50', 'SEC_75_5_10'] as const) {
    const view = await client.call('getLimits', { params, query: { rule } });
    const ruleRows = rows.filter((row) => row['rule'] === rule);
    expect(ruleRows.map(({ date }) => date)).toEqual(view.state.dates);
    expect(ruleRows.map(({ headroom }) => headroom)).toEqual(view.state.headroom);
    expect(ruleRows.map(({ nearest }) => nearest)).toEqual(view.state.nearest);
    expect(ruleRows.map(({ move }) => move)).toEqual(view.state.move);
    expect(ruleRows.filter(({ state }) => state === 'breached').length).toBe(view.breached_sessions);
    expect(
      breaches.filter((row) => row['rule'] === rule).map(({ row, begin, end, cause }) => ({ row, begin, end, cause })),
    ).toEqual(view.breaches.map(({ row, begin, end, cause }) => ({ row, begin, end, cause })));
  }
  expect(breaches.length).toBeGreaterThan(0);
  const sectorLimits = (await exportTable('limits', { by: 'SECTOR' })).filter(({ rule }) => rule === 'UCITS_20_35');
  const { state } = await client.call('getLimits', { params, query: { rule: 'UCITS_20_35', by: 'SECTOR' } });
  expect(sectorLimits.map(({ headroom }) => headroom)).toEqual(state.headroom);
  expect(state.headroom).not.toEqual(rows.filter(({ rule }) => rule === 'UCITS_20_35').map(({ headroom }) => headroom));
});

test('the orders of a pack are equal as a table, also for account ids that look like a formula', async () => {
  const body = {
    accounts: [
      { name: 'Fund', cash: 1e6 },
      { name: '=B', cash: 5e5 },
    ],
  };
  const pack = await client.call('packRebalance', { params, body });
  const orders = pack.accounts.flatMap(({ name, trades }) => trades.map((trade) => ({ ...trade, account: name })));
  const ask = async (init: RequestInit, query = '') => {
    const headers = { 'Content-Type': 'application/json', ...init.headers };
    const path = `/indices/TOP/rebalance-pack${query}`;
    return service.download(path, { method: 'POST', body: JSON.stringify(body), headers });
  };
  const csv = await ask({ headers: { Accept: 'text/csv' } });
  expect(csv.headers.get('Content-Type')).toBe('text/csv; charset=utf-8');
  const [head, ...lines] = (await csv.text()).trimEnd().split('\r\n');
  const columns = head!.split(',') as (keyof (typeof orders)[number])[];
  expect(lines).toEqual(
    orders.map((order) =>
      columns.map((column) => (order[column] === '=B' ? `"'=B"` : String(order[column] ?? ''))).join(','),
    ),
  );
  const table = tableFromIPC(await (await ask({}, '?format=arrow')).arrayBuffer());
  expect(table.schema.names).toEqual(columns);
  expect([...table.getChild('value')!]).toEqual(orders.map(({ value }) => value));
  const [sheet] = await readWorkbook(Buffer.from(await (await ask({}, '?format=xlsx')).arrayBuffer()));
  expect(sheet!.rows.slice(1).map((row) => row[0])).toEqual(orders.map(({ account }) => account));
});

test('a pack executed at the close of a rebalance has the holdings of the index after it, up to a lot', async () => {
  const { rebalances } = await client.call('listRebalances', { params });
  const { date } = rebalances.at(-1)!;
  const weightsView = await client.call('getWeights', { params, query: { as_of: date } });
  const heldWeights = new Map(weightsView.weights.map(({ identifier, weight }) => [identifier, weight]));
  const value = 1e9;
  const pack = await client.call('packRebalance', {
    params,
    body: { as_of: date, aum: value, cost: { spread_bps: 0, impact_bps: 0 } },
  });
  const [account] = pack.accounts;
  expect(new Set(account!.trades.map(({ identifier }) => identifier))).toEqual(new Set(heldWeights.keys()));
  expect(pack.index_version).toBe(1);
  const lots = account!.trades.reduce((sum, { price }) => sum + price, 0);
  for (const { identifier, price, weight_target, weight_after } of account!.trades) {
    expect(weight_target).toBeCloseTo(heldWeights.get(identifier)!, 12);
    expect(Math.abs(weight_after - weight_target)).toBeLessThanOrEqual(price / value + 1e-12);
  }
  expect(account!.cash_after).toBeGreaterThanOrEqual(0);
  expect(account!.cash_after).toBeLessThanOrEqual(lots);
});

test('of one security, level and points over the previous level are the total return', async () => {
  const index_id = 'ONE';
  const universe = { kind: 'list', identifiers: [await findPayerWithin('2022-06-02', '2022-12-30')] } as const;
  const pipeline = { weighting: { type: 'EqualWeight' } } as const;
  await client.call('createIndex', { body: { ...INDEX, id: index_id, name: 'One', universe, pipeline } });
  await client.run('startBacktest', { params: { index_id }, body: {} });
  const readLevels = async (variant: 'price' | 'total') =>
    (await client.call('getLevels', { params: { index_id }, query: { variant } })).levels;
  const [price, total] = [await readLevels('price'), await readLevels('total')];
  const { dates, points, years, trailing } = await client.call('getDividendPoints', { params: { index_id } });
  expect(dates.length).toBeGreaterThan(0);
  for (let t = 1; t < price.index.length; t++) {
    const paidPoints = points[dates.indexOf(price.index[t]!)] ?? 0;
    const growth = Number(total.data[t]) / Number(total.data[t - 1]);
    expect((Number(price.data[t]) + paidPoints) / Number(price.data[t - 1])).toBeCloseTo(growth, 12);
  }
  const sum = points.reduce((all, value) => all + value, 0);
  expect(years).toEqual([{ year: 2022, points: sum, net_points: sum }]);
  expect(trailing.yield).toBeCloseTo(sum / Number(price.data.at(-1)), 14);
});

/** Returns a security that is held and has an ordinary dividend with an ex-date within a range of days. */
async function findPayerWithin(start: string, end: string): Promise<string> {
  for (const { identifier } of (await client.call('getWeights', { params, query: {} })).weights) {
    const { actions } = await client.call('getCorporateActions', { params: { identifier } });
    if (actions.some(({ type, ex_date: ex }) => type === 'DIVIDEND' && ex >= start && ex <= end)) return identifier;
  }
  throw new Error('no name held pays a dividend');
}

test('points of an index are those of its securities by weight and level of the previous close', async () => {
  const { dates, points } = await client.call('getDividendPoints', { params });
  const { levels } = await client.call('getLevels', { params, query: { variant: 'price' } });
  const row = levels.index.indexOf(dates[0]!);
  const day = { as_of: levels.index[row - 1]! };
  let expected = 0;
  for (const { identifier, weight } of (await client.call('getWeights', { params, query: day })).weights) {
    const { actions } = await client.call('getCorporateActions', { params: { identifier } });
    const paidDividend = actions.find(({ type, ex_date: ex }) => type === 'DIVIDEND' && ex === dates[0]);
    if (paidDividend === undefined) continue;
    const { prices } = await client.call('getPrices', { params: { identifier }, query: { end: day.as_of } });
    const close = Number(prices.data.at(-1)![prices.columns.indexOf('CLOSE')]);
    expected += (weight * Number(levels.data[row - 1]) * paidDividend.value!) / close;
  }
  expect(points[0]! / expected).toBeCloseTo(1, 12);
});

test('a datapoint that the store lacks, or that is text, is refused by its position', async () => {
  await expect(
    client.call('getExposures', { params, query: { fields: ['BETA', 'NOTHING', 'SECTOR'] } }),
  ).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    detail: {
      findings: [
        expect.objectContaining({ path: 'fields[1]', code: 'UNKNOWN_FIELD_NAME' }),
        expect.objectContaining({ path: 'fields[2]', code: 'VALUE_TYPE_MISMATCH' }),
      ],
    },
  });
  const asFile = client.call('getExposures', { params, query: { table: 'fields', format: 'csv' } });
  await expect(asFile).rejects.toMatchObject({ detail: { findings: [{ code: 'REQUIRED', path: 'fields' }] } });
  await expect(client.call('getExposures', { params, query: { benchmark: 'NONE' } })).rejects.toMatchObject({
    code: 'BENCHMARK_NOT_FOUND',
  });
});

test('an action that took effect is reported with weights and divisor of the closes around it', async () => {
  const { actions, as_of } = await client.call('getIndexActions', { params, query: { from: '2022-07-01' } });
  expect(as_of).toBe('2022-12-30');
  expect(actions.length).toBeGreaterThan(0);
  const { levels } = await client.call('getLevels', { params, query: { variant: 'price' } });
  const dates = levels.index;
  for (const action of actions.slice(0, 3)) {
    const row = dates.findIndex((date) => date >= action.ex_date);
    expect([action.ex_date >= '2022-07-01', action.state]).toEqual([true, 'effective']);
    const weightsView = await client.call('getWeights', { params, query: { as_of: dates[row - 1]! } });
    const { weight } = weightsView.weights.find(({ identifier }) => identifier === action.identifier)!;
    expect(action.weight_before).toBe(weight);
    const query = { end: dates[row - 1]! };
    const { prices } = await client.call('getPrices', { params: { identifier: action.identifier }, query });
    const close = Number(prices.data.at(-1)![prices.columns.indexOf('CLOSE')]);
    expect((action.shares_before * close) / (weight * Number(levels.data[row - 1]))).toBeCloseTo(1, 12);
  }
  const csv = await client.download('getIndexActions', 'text/csv', { params, query: { from: '2022-07-01' } });
  const [head, ...lines] = Buffer.from(csv).toString().trimEnd().split('\r\n');
  const columns = head!.split(',');
  expect(lines).toEqual(actions.map((action) => columns.map((column) => action[column as 'value'] ?? '').join(',')));
  const dividends = actions.filter(({ type }) => type === 'DIVIDEND');
  for (const { shares_before, shares_after, divisor_before, divisor_after, ex_date, identifier } of dividends) {
    if (actions.filter((other) => other.ex_date === ex_date).length > 1 || /-(09-30|12-30)$/.test(ex_date)) continue;
    // On an ordinary dividend, the shares and the divisor of a price index do not change.
    expect([identifier, shares_after! / shares_before]).toEqual([identifier, expect.closeTo(1, 10)]);
    expect(divisor_after! / divisor_before!).toBeCloseTo(1, 10);
  }
});
