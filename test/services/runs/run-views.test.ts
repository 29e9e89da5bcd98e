import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDivisorClient, type DivisorClient, type IndexDocumentBody } from '#clients/typescript/divisor.js';
import { validateConstraints } from '#domain/definition/constraint-sets.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
let client: DivisorClient;
const INDEX = {
  calendar: 'XNYS',
  base_date: '2022-01-03',
  base_value: 1000,
  rebalance: { frequency: 'quarterly', effective_lag: 3 },
} as const;

beforeAll(async () => {
  service = await runService();
  client = createDivisorClient({ url: service.url() });
  await client.run('generateSynthetic', {
    body: { store_id: 'm', seed: 7, assets: 20, start: '2021-06-01', end: '2023-12-29' },
  });
  const weighting = { type: 'MarketCapWeight', cap: 0.15 } as const;
  const selection = [{ id: 'top', type: 'TopN' as const, params: { count: 10 } }];
  await client.call('createIndex', { body: { ...INDEX, id: 'TOP', name: 'Top', pipeline: { selection, weighting } } });
  await client.call('createStrategy', { body: { id: 'HALF', name: 'Half', index_id: 'TOP', exposure: 0.5 } });
  const body = { transaction_cost_bps: 10, benchmark: { kind: 'index', id: 'TOP' } } as const;
  await client.run('startBacktest', { params: { index_id: 'TOP' }, body: { transaction_cost_bps: 10 } });
  await client.run('startBacktest', { params: { index_id: 'HALF' }, body });
});
afterAll(() => service.close());

test('a row of the summaries has the figures of the views of its run', async () => {
  const { summaries } = await client.call('listSummaries');
  expect(summaries.map((row) => `${row.index_id} ${row.benchmark}`)).toEqual(['HALF TOP', 'TOP null']);
  for (const row of summaries) {
    const { level, metrics, last_rebalance, end } = await client.call('getOverview', {
      params: { index_id: row.index_id },
    });
    const values = level.data.map(Number);
    const yearBefore = values[level.index.findLastIndex((date) => date < '2023')]!;
    expect([row.start, row.end, row.last_rebalance]).toEqual([level.index[0], end, last_rebalance]);
    expect([row.total_return, row.max_drawdown]).toEqual([metrics.total_return, metrics.max_drawdown]);
    expect(row.day_return).toBeCloseTo(values.at(-1)! / values.at(-2)! - 1, 12);
    expect(row.year_to_date).toBeCloseTo(values.at(-1)! / yearBefore - 1, 12);
    const last = values.slice(-253).map(Math.log);
    const returns = last.slice(1).map((value, t) => Math.expm1(value - last[t]!));
    const mean = returns.reduce((sum, value) => sum + value) / 252;
    const variance = returns.reduce((sum, value) => sum + (value - mean) ** 2, 0) / 251;
    expect(row.volatility).toBeCloseTo(Math.sqrt(252 * variance), 10);
    expect(row.trace.data.at(-1)).toBe(values.at(-1));
    expect(row.trace.index.every((date) => level.index.includes(date))).toBe(true);
  }
  const [half, top] = summaries;
  const { levels } = await client.call('getLevels', { params: { index_id: 'TOP' } });
  const { upcoming } = await client.call('getSchedule', { params: { index_id: 'TOP' }, query: { as_of: top!.end } });
  expect([top!.level, top!.next_rebalance]).toEqual([levels.data.at(-1), upcoming[0]]);
  expect([half!.level, half!.next_rebalance]).toEqual([half!.trace.data.at(-1), null]);
});

const params = { index_id: 'TOP' };

test('the performance of a window is measured from its levels only', async () => {
  const query = { start: '2022-05-07', end: '2023-08-20' };
  const view = await client.call('getPerformance', { params, query });
  const { level } = await client.call('getOverview', { params });
  const { levels } = await client.call('getLevels', { params, query });
  const insideRows = level.index.flatMap((date, t) => (date >= query.start && date <= query.end ? [t] : []));
  expect(view.level.index).toEqual(insideRows.map((t) => level.index[t]));
  expect([view.start, view.end, view.observations]).toEqual(['2022-05-09', '2023-08-18', insideRows.length]);
  const values = insideRows.map((t) => Number(level.data[t]));
  values.forEach((value, t) => expect(view.level.data[t]).toBeCloseTo((100 * value) / values[0]!, 9));
  levels.data.forEach((points, t) =>
    expect(view.index_level.data[t]).toBeCloseTo((100 * Number(points)) / Number(levels.data[0]), 9),
  );
  expect(view.day_return).toBeCloseTo(values.at(-1)! / values.at(-2)! - 1, 12);
  const { end_level } = await client.call('getPerformance', { params, query: { ...query, of: 'index' } });
  expect([view.end_level, end_level]).toEqual([values.at(-1), levels.data.at(-1)]);
  view.drawdown.data.forEach((value, t) =>
    expect(value).toBeCloseTo(values[t]! / Math.max(...values.slice(0, t + 1)) - 1, 12),
  );
  expect(view.metrics.total_return).toBeCloseTo(values.at(-1)! / values[0]! - 1, 12);
  expect(view.metrics.max_drawdown).toBe(Math.min(...view.drawdown.data.map(Number)));
  for (const parts of [view.annual_returns, view.monthly_returns]) {
    const growth = Object.values(parts).reduce((product, value) => product * (1 + value), 1);
    expect(growth - 1).toBeCloseTo(view.metrics.total_return, 12);
  }
  expect(Object.keys(view.monthly_returns).slice(0, 2)).toEqual(['2022-05', '2022-06']);
  await expect(
    client.call('getPerformance', { params, query: { start: '2023-08-19', end: '2023-08-21' } }),
  ).rejects.toMatchObject({ code: 'RANGE_TOO_SHORT' });
});

test('rebalances equal those of the record, security by security, with the trades of their session', async () => {
  const { rebalances } = await client.call('listRebalances', { params });
  const record = await client.call('getRecord', { params });
  const book = record.index.target!;
  expect(rebalances.map(({ date, decision_date }) => [date, decision_date])).toEqual(
    book.rebalances.map(({ date, announced }) => [date, announced ?? date]),
  );
  const { transactions, nav } = record.portfolio;
  const findColumnIndex = (name: string) => transactions.columns.indexOf(name);
  for (const [r, row] of rebalances.entries()) {
    const view = await client.call('getRebalance', { params: { ...params, date: row.date } });
    expect(view).toMatchObject(row);
    expect([view.previous, view.next]).toEqual([rebalances[r - 1]?.date ?? null, rebalances[r + 1]?.date ?? null]);
    const { weights, uncapped_weights, capped } = book.rebalances[r]!;
    const targetNames = view.names.filter(({ target }) => target !== 0);
    expect(Object.fromEntries(targetNames.map(({ identifier, target }) => [identifier, target]))).toEqual(weights);
    expect(Object.fromEntries(targetNames.map(({ identifier, uncapped }) => [identifier, uncapped]))).toEqual(
      uncapped_weights,
    );
    expect(
      targetNames
        .filter((name) => name.capped)
        .map(({ identifier }) => identifier)
        .toSorted(),
    ).toEqual(capped.toSorted());
    expect([row.constituents, row.capped]).toEqual([Object.keys(weights).length, capped.length]);
    const tradedRows = transactions.data.filter((line) => line[findColumnIndex('date')] === row.traded_on);
    for (const line of tradedRows) {
      const name = view.names.find(({ identifier }) => identifier === line[findColumnIndex('asset_id')])!;
      expect(Math.abs(name.trade!)).toBeCloseTo(Number(line[findColumnIndex('notional')]), 6);
    }
    const turnover = view.names.reduce((sum, { change }) => sum + Math.abs(change!), 0) / 2;
    if (r === 0) {
      expect(row.turnover).toBeNull();
      continue;
    }
    expect(row.turnover).toBeCloseTo(turnover, 12);
    // The cost is ten basis points of purchases and sales.
    const position = nav.index.indexOf(row.traded_on!);
    const boughtValue = tradedRows.reduce((sum, line) => sum + Number(line[findColumnIndex('notional')]), 0);
    expect(row.cost_fraction).toBeCloseTo((0.001 * boughtValue) / Number(nav.data[position - 1]), 10);
  }
  const [, second] = rebalances;
  const before = await client.call('getRebalance', { params: { ...params, date: second!.date.replace(/..$/, '01') } });
  expect(before.date).toBe(rebalances[0]!.date);
  await expect(client.call('getRebalance', { params: { ...params, date: '2021-12-31' } })).rejects.toMatchObject({
    code: 'NO_DATA_AT_DATE',
  });
});

test('exposures of a date are the weights of its securities, summed by their groups on that date', async () => {
  const view = await client.call('getExposures', { params, query: { interval: 'monthly' } });
  expect(view.dates).toHaveLength(24);
  for (const date of ['2022-03-31', '2023-06-30', '2023-12-29']) {
    const k = view.dates.indexOf(date);
    const { weights, concentration } = await client.call('getWeights', { params, query: { as_of: date } });
    const sums = new Map<string, number>();
    for (const { identifier, weight } of weights) {
      const { fields } = await client.call('getAssetReference', { params: { identifier }, query: { as_of: date } });
      const sector = String(fields['SECTOR']);
      sums.set(sector, (sums.get(sector) ?? 0) + weight);
    }
    for (const { group, weights: reported } of view.groups) expect(reported[k]).toBeCloseTo(sums.get(group) ?? 0, 12);
    expect(view.concentration.effective[k]).toBeCloseTo(concentration.effective_assets, 10);
    expect(view.concentration.largest[k]).toBe(concentration.largest);
  }
  const names = await client.call('getExposures', { params, query: { by: 'IDENTIFIER', groups: 3 } });
  expect(names.groups.map(({ group }) => group)).toHaveLength(4);
  expect(names.groups.at(-1)!.group).toBe('OTHERS');
  names.dates.forEach((_, k) =>
    expect(names.groups.reduce((sum, { weights }) => sum + weights[k]!, 0)).toBeCloseTo(1, 12),
  );
  await expect(client.call('getExposures', { params, query: { by: 'NOTHING' } })).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
});

test('exposures as CSV have a row per date and group, with the weights of the JSON', async () => {
  const query = { by: 'SECTOR', interval: 'monthly' } as const;
  const { dates, groups } = await client.call('getExposures', { params, query });
  const text = Buffer.from(await client.download('getExposures', 'text/csv', { params, query })).toString();
  const [header, ...lines] = text.trimEnd().split('\r\n');
  expect(header).toBe('date,group,weight,benchmark_weight');
  expect(lines.map((line) => [line.split(',')[0], Number(line.split(',').at(-2)), line.split(',').at(-1)])).toEqual(
    dates.flatMap((date, t) => groups.map(({ weights }) => [date, weights[t], ''])),
  );
});

test('limits are watched on the weights of every session, with the cause of each breach', async () => {
  const exposures = await client.call('getExposures', { params, query: { by: 'ISSUER', groups: 100 } });
  const query = { rule: 'RIC_25_5_50' } as const;
  const { state, breaches, breached_sessions, findings, distance } = await client.call('getLimits', { params, query });
  expect(findings).toEqual([]);
  const headroom = exposures.dates.map((_, k) => {
    const largeSum = exposures.groups.reduce((sum, { weights }) => sum + (weights[k]! > 0.05 ? weights[k]! : 0), 0);
    return Math.min(0.25 - Math.max(...exposures.groups.map(({ weights }) => weights[k]!)), 0.5 - largeSum);
  });
  expect(state.dates).toEqual(exposures.dates);
  state.headroom.forEach((value, k) => expect(value).toBeCloseTo(headroom[k]!, 12));
  expect(breached_sessions).toBe(headroom.filter((value) => value < 0).length);
  expect(breaches.length).toBeGreaterThan(0);
  for (const { begin, cause } of breaches) {
    const { rebalances } = await client.call('listRebalances', { params });
    if (cause === 'rebalance') expect(rebalances.map(({ date }) => date)).toContain(begin);
  }
  if (headroom.at(-1)! < 0) expect(distance).toBeNull();
});

test('rows of the optimiser are watched with datapoints of their session; other rows are refused by their position', async () => {
  const exposures = await client.call('getExposures', { params });
  const { group, weights } = exposures.groups[0]!;
  const row = { id: 's', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.3, groups: [group] } };
  const view = await client.call('watchLimits', { params, body: { rows: [row] } });
  expect(view.state.dates).toEqual(exposures.dates);
  view.state.headroom.forEach((value, k) => expect(value).toBeCloseTo(Math.min(0.3 - weights[k]!, weights[k]!), 12));
  expect(view.rows.map(({ row }) => row)).toEqual([`GroupBounds[s]:lower:${group}`, `GroupBounds[s]:upper:${group}`]);
  const limit = { id: 'l', type: 'WeightSum', params: { lower: 1.5, upper: 2 } };
  const { state } = await client.call('watchLimits', { params, body: { rows: [limit] } });
  state.headroom.forEach((value) => expect(value).toBeCloseTo(-0.5, 12));
  const tooLarge = { ...limit, params: { lower: 11, upper: 12 } };
  expect(validateConstraints([tooLarge], { path: 'rows' }).map(({ code }) => code)).toEqual([
    'OUT_OF_RANGE',
    'OUT_OF_RANGE',
  ]);
  const turnover = { id: 't', type: 'Turnover', params: { limit: 0.1 } };
  const unknownRow = { id: 'u', type: 'GroupBounds', params: { field: 'NOTHING', upper: 1 } };
  for (const [rows, path] of [
    [[row, turnover], 'rows[1].type'],
    [[unknownRow], 'rows[0].params.field'],
    [[{ id: 'x', type: 'Nothing', params: {} }], 'rows[0].type'],
  ] as const)
    await expect(client.call('watchLimits', { params, body: { rows } })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      detail: { findings: [expect.objectContaining({ path })] },
    });
});

test('a pack on the session of a rebalance has its weights; before it, the announced weights or those of the rules', async () => {
  const { rebalances } = await client.call('listRebalances', { params });
  const { date, decision_date } = rebalances.at(-1)!;
  const createBody = (as_of: string) => ({ as_of, aum: 1e12, cost: { spread_bps: 0, impact_bps: 0 } });
  const pack = await client.call('packRebalance', { params, body: createBody(date) });
  expect(pack).toMatchObject({ as_of: date, effective: date, decision: decision_date, basis: 'announced' });
  const { weights } = await client.call('getWeights', { params, query: { as_of: date } });
  const [account] = pack.accounts;
  expect(account!.trades.map(({ identifier }) => identifier)).toEqual(
    weights.map(({ identifier }) => identifier).toSorted(),
  );
  for (const { identifier, weight_after } of account!.trades)
    expect(weight_after).toBeCloseTo(weights.find((row) => row.identifier === identifier)!.weight, 8);
  const firstPack = await client.call('packRebalance', { params, body: createBody(decision_date!) });
  expect(firstPack).toMatchObject({ effective: date, decision: decision_date, basis: 'announced' });
  const listShares = ({ accounts }: typeof pack) => accounts[0]!.trades.map((t) => t.weight_target / t.price);
  const ratios = listShares(pack).map((shares, i) => shares / listShares(firstPack)[i]!);
  for (const ratio of ratios) expect(ratio / ratios[0]!).toBeCloseTo(1, 10);
  expect(firstPack.reconciliation).toBeNull();
  // The orders that are announced equal the orders that are reported on the effective day.
  const listRows = ({ accounts }: typeof pack) =>
    accounts[0]!.trades.map(({ identifier, side, shares, price }) => [
      identifier,
      side === 'buy' ? shares : -shares,
      price,
    ]);
  const { announced: on, accounts } = pack.reconciliation!;
  expect(on).toBe(decision_date);
  const orders = accounts[0]!.orders;
  expect(orders.map((one) => [one.identifier, one.shares_announced, one.price_announced])).toEqual(listRows(firstPack));
  expect(orders.map((one) => [one.identifier, one.shares, one.price])).toEqual(listRows(pack));
  for (const { change, shares, shares_announced } of orders) expect(change).toBe(shares - shares_announced);
  const earlyPack = await client.call('packRebalance', { params, body: createBody('2023-10-31') });
  expect(earlyPack).toMatchObject({ effective: date, decision: earlyPack.as_of, basis: 'indicative' });
  const body = { ...createBody(date), accounts: [{ name: 'F', holdings: [{ identifier: 'NOBODY', shares: 1 }] }] };
  await expect(client.call('packRebalance', { params, body })).rejects.toMatchObject({
    detail: {
      findings: [expect.objectContaining({ code: 'UNKNOWN_IDENTIFIER', path: 'accounts[0].holdings[0].identifier' })],
    },
  });
  await expect(client.call('packRebalance', { params, body: {} })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  await expect(client.call('packRebalance', { params, body: createBody('2001-01-02') })).rejects.toMatchObject({
    code: 'NO_DATA_AT_DATE',
  });
});

test('scenarios add up by security and by group, and a window has the return of its prices', async () => {
  const { weights, as_of } = await client.call('getWeights', { params });
  const [first] = weights;
  const body = {
    scenarios: [
      { name: 'spring', window: { start: '2022-04-01', end: '2022-06-30' } },
      { name: 'one', shocks: { [first!.identifier]: -0.1 } },
      { name: 'late', window: { start: '2041-04-01', end: '2041-06-30' } },
    ],
  };
  const view = await client.call('runScenarios', { params, body });
  for (const { name, by_name, by_group, return: total } of view.scenarios) {
    expect(total === null).toBe(name === 'late');
    expect(by_name.reduce((sum, { contribution }) => sum + contribution, 0)).toBeCloseTo(total ?? 0, 12);
    expect(by_group.reduce((sum, { contribution }) => sum + contribution, 0)).toBeCloseTo(total ?? 0, 12);
  }
  expect(view.scenarios[0]).toMatchObject({ window: { start: '2022-03-31', end: '2022-06-30' }, covered_weight: 1 });
  expect(view.scenarios[1]!.return).toBeCloseTo(-0.1 * first!.weight, 14);
  expect(view).toMatchObject({ as_of, findings: [{ code: 'NO_DATA_IN_RANGE', path: 'scenarios[2].window' }] });
  const backwards = { scenarios: [{ name: 'b', window: { start: '2022-04-01', end: '2022-01-30' } }] };
  await expect(client.call('runScenarios', { params, body: backwards })).rejects.toMatchObject({
    detail: { findings: [expect.objectContaining({ path: expect.stringContaining('scenarios[0]') as string })] },
  });
});

test('a comparison has figures and correlations of its window, equal to the performance of each run', async () => {
  const window = { start: '2022-06-01', end: '2023-05-31' };
  const ids = ['TOP', 'HALF'];
  const view = await client.call('compareRuns', { query: { ...window, ids } });
  const levels: number[][] = [];
  expect(view).toMatchObject(window);
  for (const { index_id, level, ...entry } of view.entries) {
    const periodView = await client.call('getPerformance', { params: { index_id }, query: window });
    expect(entry).toMatchObject({
      total_return: expect.closeTo(periodView.metrics.total_return, 12) as number,
      annualised_return: expect.closeTo(periodView.metrics.annualised_return, 12) as number,
      volatility: expect.closeTo(periodView.metrics.volatility, 12) as number,
      sharpe_ratio: expect.closeTo(periodView.metrics.sharpe_ratio, 10) as number,
      max_drawdown: expect.closeTo(periodView.metrics.max_drawdown, 12) as number,
    });
    expect(periodView.drawdowns[0]!.depth).toBeCloseTo(entry.max_drawdown, 12);
    levels.push(level.data.map(Number));
  }
  const returns = levels.map((level) => level.slice(1).map((value, t) => value / level[t]! - 1));
  const [a, b] = returns.map((series) => {
    const middle = series.reduce((sum, value) => sum + value, 0) / series.length;
    return series.map((value) => value - middle);
  });
  const computeProduct = (x: number[], y: number[]) => x.reduce((sum, value, t) => sum + value * y[t]!, 0);
  const expected = computeProduct(a!, b!) / Math.sqrt(computeProduct(a!, a!) * computeProduct(b!, b!));
  expect(view.correlations).toEqual([
    [1, expect.closeTo(expected, 10)],
    [expect.closeTo(expected, 10), 1],
  ]);
  const later = { ids, start: '2030-01-01', end: '2030-02-01' };
  await expect(client.call('compareRuns', { query: later })).rejects.toMatchObject({ code: 'NO_COMMON_DATES' });
});

test('a stream of all jobs reports the unfinished ones first and every change after, and an etag comes with a document', async () => {
  const seenPaths: string[] = [];
  for await (const { event, data } of client.events('followJobs')) {
    if (event === 'caught-up')
      await client.call('startBacktest', { params: { index_id: 'TOP' }, body: { transaction_cost_bps: 7 } });
    const { job_id, status } = data as { readonly job_id?: string; readonly status?: string };
    seenPaths.push(job_id === undefined ? event : `${job_id} ${status}`);
    if (status === 'succeeded') break;
  }
  expect(seenPaths[0]).toBe('caught-up');
  const knownStates = ['pending', 'running', 'succeeded'].map((status) => `backtest:TOP ${status}`);
  expect(seenPaths.slice(1).filter((reported) => !knownStates.includes(reported))).toEqual([]);
  const { answer, etag } = await client.callWithEtag('getIndex', { params: { index_id: 'TOP' } });
  const body = { ...answer, name: 'Largest' } as IndexDocumentBody; // PUT accepts the response as a document
  await client.call('putIndex', { params: { index_id: 'TOP' }, body, ifMatch: etag! });
  await expect(client.call('putIndex', { params: { index_id: 'TOP' }, body, ifMatch: etag! })).rejects.toMatchObject({
    code: 'PRECONDITION_FAILED',
  });
});
