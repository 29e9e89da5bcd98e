import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DataVersionsPayload } from '#contract/stores.js';
import { runService, type RunningService } from '../running-service.js';
import { createFrame } from '../../table-frame.js';

/** Service with a store that grows and is corrected. Each test depends on the previous test. */
let service: RunningService;

const NAMES = ['A', 'B', 'C', 'D'];
const FIRST_DAY_MS = Date.UTC(2023, 0, 2);

/** Returns weekdays from 2023-01-02 on. */
const listDays = (count: number): string[] =>
  Array.from({ length: 2 * count }, (_, i) => new Date(FIRST_DAY_MS + i * 86_400_000))
    .filter((day) => day.getUTCDay() % 6 !== 0)
    .slice(0, count)
    .map((day) => day.toISOString().slice(0, 10));

/** Returns a market table of this number of days. The corrections have the day and the security as their key. */
function createTables(count: number, corrections: Readonly<Record<string, number>> = {}): object {
  const data = listDays(count).flatMap((day, t) =>
    NAMES.map((name, n) => [name, day, corrections[`${day} ${name}`] ?? 100 + 10 * n + ((t * (n + 3)) % 7)]),
  );
  return { market: createFrame(['identifier', 'date', 'CLOSE'], data) };
}

const INDEX = {
  id: 'KNOWN',
  name: 'Known',
  calendar: 'XNYS',
  base_date: '2023-01-04',
  rebalance: { frequency: 'monthly' },
  pipeline: { weighting: { type: 'PriceWeight' } },
};

const CORRECTED_CLOSES = { [`${listDays(41).at(-30)!} B`]: 200, [`${listDays(41).at(-2)!} D`]: 1 };

const importStore = (rows: object, on_exists: string) =>
  service.ask('POST', '/data/import', { store_id: 'm', name: 'M', tables: rows, on_exists, activate: true });

async function runJob(path: string, body: object): Promise<{ readonly status: string; readonly result: unknown }> {
  const { body: started } = await service.ask<{ readonly job_id: string }>('POST', path, body);
  return service.waitForJob(started.job_id) as Promise<{ readonly status: string; readonly result: unknown }>;
}

/** Returns the levels of a backtest, with the hash of all inputs. */
async function readLevels(asKnownOn?: number | string): Promise<unknown> {
  const job = await runJob('/analytics/KNOWN/backtest', asKnownOn === undefined ? {} : { as_known_on: asKnownOn });
  expect(job).toMatchObject({ status: 'succeeded' });
  const { body: record } = await service.ask<{ readonly run_hash: string }>('GET', '/analytics/KNOWN/record');
  const { body } = await service.ask<{ readonly levels: unknown }>('GET', '/analytics/KNOWN/levels');
  return { levels: body, hash: record.run_hash };
}

const findVersions = async (): Promise<DataVersionsPayload> =>
  (await service.ask<DataVersionsPayload>('GET', '/data/stores/m/versions')).body;

/** Returns the responses about the data as it was known at a time. */
const readAnswers = async (query = '', body: object = {}): Promise<unknown[]> =>
  Promise.all([
    service.ask('GET', `/data/prices/B${query}`).then((answer) => answer.body),
    service.ask('GET', `/data/corporate-actions/B${query}`).then((answer) => answer.body),
    service.ask('POST', '/indices/KNOWN/preview', { as_of: '2023-02-01', ...body }).then((answer) => answer.body),
  ]);

/** Volatilities estimated while the second version was served. */
let earlierEstimate: unknown;

const createVolatilities = ({ result }: { readonly result: unknown }): unknown =>
  (result as { readonly volatilities: unknown }).volatilities;

const earlierAnswers: { readonly levels: unknown; readonly answers: unknown[] }[] = [];

beforeAll(async () => {
  service = await runService();
  await importStore(createTables(40), 'replace');
  expect((await service.ask('PUT', '/indices/KNOWN', INDEX)).status).toBeLessThan(300);
  earlierAnswers.push({ levels: await readLevels(), answers: await readAnswers() });
  await importStore(createTables(41), 'append');
  earlierAnswers.push({ levels: await readLevels(), answers: await readAnswers() });
  earlierEstimate = createVolatilities(await runJob('/risk-models/then/estimate', { identifiers: ['A', 'B', 'D'] }));
  await importStore(createTables(41, CORRECTED_CLOSES), 'replace');
  earlierAnswers.push({ levels: await readLevels(), answers: await readAnswers() });
});
afterAll(() => service.close());

/** Returns a response without times. */
const removeTimes = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer), (member, value: unknown) =>
    ['stale', 'run_at', 'took_ms'].includes(member) ? null : value,
  );

test('each served content is a version, with its changed rows', async () => {
  const { versions: listed, total } = await findVersions();
  expect(total).toBe(3);
  expect(listed.map(({ version, source, readable }) => [version, source, readable])).toEqual([
    [3, 'replace', true],
    [2, 'append', true],
    [1, 'import', true],
  ]);
  expect(listed.map((row) => [row.rows_added, row.rows_changed, row.rows_removed])).toEqual([
    [0, 2, 0],
    [4, 0, 0],
    [160, 0, 0],
  ]);
});

test('the values between two versions are reported, before and after', async () => {
  const { body } = await service.ask('GET', '/data/stores/m/versions/diff?from=2&to=3');
  expect(body).toMatchObject({ from: 2, to: 3, cells: 2, rows_added: 0, rows_changed: 2, rows_removed: 0 });
  const cells = (body as { readonly changes: readonly { readonly identifier: string; readonly after: number }[] })
    .changes;
  expect(cells.map(({ identifier, after }) => [identifier, after])).toEqual([
    ['B', 200],
    ['D', 1],
  ]);
  expect((await service.ask('GET', '/data/stores/m/versions/diff?from=1&to=3')).body).toMatchObject({
    cells: 2,
    rows_added: 4,
    appended: { sessions: 1, rows: 4, start: listDays(41).at(-1)!, end: listDays(41).at(-1)! },
  });
  const path = '/data/stores/m/versions/diff?from=1&to=2&appended=true&limit=3';
  const report = (await service.ask<{ readonly changes: readonly object[] }>('GET', path)).body.changes;
  expect(report).toMatchObject(
    ['A', 'B', 'C'].map((identifier) => ({ identifier, date: listDays(41).at(-1)!, before: null })),
  );
});

test('prices, actions, previews and backtests of an earlier version are the earlier answers', async () => {
  for (const [i, earlier] of earlierAnswers.entries()) {
    const version = i + 1;
    expect(await readAnswers(`?as_known_on=${version}`, { as_known_on: version })).toEqual(earlier.answers);
    expect(removeTimes(await readLevels(version)), `version ${version}`).toEqual(removeTimes(earlier.levels));
  }
});

test('an export as known on a version uses the newest run of that version', async () => {
  const { body } = await service.ask<{ readonly runs: readonly { run_id: string; store_version: number }[] }>(
    'GET',
    '/analytics/KNOWN/runs',
  );
  const readExport = async (query: string): Promise<unknown> =>
    removeTimes((await service.ask('GET', `/analytics/KNOWN/exports/levels?format=json&${query}`)).body);
  const tables = await Promise.all([1, 2, 3].map((version) => readExport(`as_known_on=${version}`)));
  for (const [i, table] of tables.entries()) {
    const run = body.runs.find(({ store_version: version }) => version === i + 1)!;
    expect(table).toEqual(await readExport(`run_id=${run.run_id}`));
  }
  expect(new Set(tables.map((table) => JSON.stringify(table))).size).toBe(3);
  const lastRunId = body.runs.find(({ store_version: version }) => version === 3)!.run_id;
  const path = `/analytics/KNOWN/exports/levels?run_id=${lastRunId}&as_known_on=1`;
  expect(await service.refusal('GET', path)).toMatchObject({
    status: 422,
    detail: { findings: [{ code: 'DIFFERENT_DATA', path: 'as_known_on', value: 1 }] },
  });
  await service.ask('PUT', '/indices/LATER', { ...INDEX, id: 'LATER' });
  await runJob('/analytics/LATER/backtest', {});
  expect(await service.refusal('GET', '/analytics/LATER/exports/levels?as_known_on=2')).toMatchObject({
    status: 404,
    code: 'RUN_NOT_FOUND',
    detail: { index_id: 'LATER', data_version: 2 },
  });
  await service.ask('DELETE', '/indices/LATER');
});

test('a time selects the newest version known at it, and a backtest reports that version', async () => {
  const { versions: listed } = await findVersions();
  const second = listed.find(({ version }) => version === 2)!;
  expect(removeTimes(await readLevels(second.known_at))).toEqual(removeTimes(earlierAnswers[1]!.levels));
  const { body } = await service.ask<{ readonly runs: readonly { readonly store_version: number }[] }>(
    'GET',
    '/analytics/KNOWN/runs?limit=1',
  );
  expect(body.runs[0]!.store_version).toBe(2);
  expect(await service.refusal('GET', '/data/prices/B?as_known_on=2001-01-01')).toMatchObject({
    status: 422,
    code: 'NO_DATA_KNOWN',
  });
  expect(await service.refusal('GET', '/data/prices/B?as_known_on=9')).toMatchObject({
    code: 'VERSION_NOT_FOUND',
    detail: { version: 9, first: 1, last: 3, path: 'as_known_on' },
  });
  expect(await service.refusal('GET', '/data/stores/m/versions/diff?from=1&to=9')).toMatchObject({
    detail: { version: 9, path: 'to' },
  });
  for (const moment of ['2024-02-30', 'yesterday', '0']) {
    const { code, detail } = await service.refusal('GET', `/data/prices/B?as_known_on=${moment}`);
    expect([code, (detail as { readonly findings: unknown[] }).findings.length]).toEqual(['VALIDATION_FAILED', 1]);
  }
  expect((await service.refusal('GET', '/data/stores/none/versions/diff?from=1&to=2')).code).toBe('STORE_NOT_FOUND');
});

test('sweeps and risk models use the data known at the time', async () => {
  const sweep = { index_id: 'KNOWN', grid: { '/request/transaction_cost_bps': [0, 10] } };
  const model = { identifiers: ['A', 'B', 'D'], as_known_on: 2 };
  const [swept, known] = [
    await runJob('/analytics/sweeps', sweep),
    await runJob('/analytics/sweeps', { ...sweep, as_known_on: 2 }),
  ];
  expect(swept.status).toBe('succeeded');
  expect(known.status).toBe('succeeded');
  expect(JSON.stringify(known.result)).not.toBe(JSON.stringify(swept.result));
  expect(createVolatilities(await runJob('/risk-models/known/estimate', model))).toEqual(earlierEstimate);
  const last = await runJob('/risk-models/last/estimate', { identifiers: model.identifiers });
  expect(createVolatilities(last)).not.toEqual(earlierEstimate);
});

test('the same content served again after a restart is no version, and the earlier versions remain', async () => {
  await service.restart();
  await service.resumed();
  expect((await findVersions()).total).toBe(3);
  expect(await readAnswers('?as_known_on=1', { as_known_on: 1 })).toEqual(earlierAnswers[0]!.answers);
});

const listReadableVersions = async (): Promise<unknown[]> =>
  (await findVersions()).versions.map(({ version, readable: isReadable }) => [version, isReadable]);

test('contents beyond the limit are deleted, except those that a stored run or a published close refers to', async () => {
  const limitVersions = (kept: unknown) => service.ask('PATCH', '/data/stores/m', { versions_kept: kept });
  await readLevels(1);
  expect((await limitVersions(1)).body).toMatchObject({ versions_kept: 1 });
  expect(await listReadableVersions()).toEqual([
    [3, true],
    [2, true],
    [1, true],
  ]);
  await readLevels(2);
  const { runs } = (
    await service.ask<{ readonly runs: readonly { readonly run_id: string }[] }>('GET', '/analytics/KNOWN/runs?limit=1')
  ).body;
  const request = { run_id: runs[0]!.run_id };
  expect((await service.ask('POST', '/analytics/KNOWN/publish', request)).status).toBe(200);
  expect((await service.ask('DELETE', '/analytics/KNOWN/record')).status).toBe(204);
  await limitVersions(1);
  const keptVersions = [
    [3, true],
    [2, true],
    [1, false],
  ];
  expect(await listReadableVersions()).toEqual(keptVersions);
  expect(await readAnswers('?as_known_on=2', { as_known_on: 2 })).toEqual(earlierAnswers[1]!.answers);
  expect(await service.refusal('GET', '/data/prices/B?as_known_on=1')).toMatchObject({
    code: 'NO_DATA_KNOWN',
    message: expect.stringContaining('forgotten, as the store keeps ') as string,
  });
  // The runs of the index are deleted with it. Its publications are not.
  expect((await service.ask('DELETE', '/indices/KNOWN?purge=true')).status).toBe(200);
  await importStore(createTables(42, CORRECTED_CLOSES), 'append');
  expect(await listReadableVersions()).toEqual([[4, true], ...keptVersions]);
  expect((await limitVersions(0)).status).toBe(422);
});

const listStoreVersions = async (store: string): Promise<DataVersionsPayload['versions']> =>
  (await service.ask<DataVersionsPayload>('GET', `/data/stores/${store}/versions`)).body.versions;

test('a folder that changed while the service was stopped keeps its earlier contents, bit for bit', async () => {
  const folder = join(service.root, 'folder');
  await mkdir(folder);
  const formatCsv = (...closes: readonly number[]): string =>
    `identifier,date,CLOSE\n${closes.map((close, t) => `A,2024-01-0${t + 2},${close}\n`).join('')}`;
  const change = (...closes: readonly number[]) => writeFile(join(folder, 'market.csv'), formatCsv(...closes));
  const readPrices = async (query = '') => (await service.ask('GET', `/data/prices/A${query}`)).body;
  await change(1, 2);
  const createdStore = { store_id: 'f', name: 'F', kind: 'folder', location: folder, activate: true };
  expect((await service.ask('POST', '/data/stores', createdStore)).status).toBe(201);
  const responses = [await readPrices()];
  // Adds two days, then a correction that a start does not accept. Then adds a correction in a folder that is no longer
  // served.
  for (const closes of [
    [1, 2, 7],
    [1, 2, 7, 9],
    [5, 2, 7, 9],
  ]) {
    await service.restart(() => change(...closes));
    await service.resumed();
    responses.push(await readPrices());
  }
  await service.ask('POST', '/data/stores/m/activate');
  await service.waitForJob('load:m');
  await change(8);
  await service.ask('POST', '/data/stores/f/activate');
  await service.waitForJob('load:f');
  const versions = await listStoreVersions('f');
  expect(versions.map(({ version, readable, source }) => [version, readable, source])).toEqual([
    [4, true, 'reload'],
    [3, true, 'reload'],
    [2, true, 'reload'],
    [1, true, 'import'],
  ]);
  expect(versions.map((row) => [row.rows_added, row.rows_changed, row.rows_removed])).toEqual([
    [0, 1, 3],
    [1, 0, 0],
    [1, 0, 0],
    [2, 0, 0],
  ]);
  expect(responses[3]).toEqual(responses[2]);
  for (const version of [1, 2, 3]) expect(await readPrices(`?as_known_on=${version}`)).toEqual(responses[version - 1]);
});

test('an import that is not activated keeps the earlier served content of its store', async () => {
  const before = await listReadableVersions();
  const unservedStore = { store_id: 'm', name: 'M', activate: false };
  for (const [count, on_exists] of [
    [43, 'append'],
    [44, 'append'],
  ] as const) {
    const { status } = await service.ask('POST', '/data/import', {
      ...unservedStore,
      tables: createTables(count, CORRECTED_CLOSES),
      on_exists,
    });
    expect(status).toBe(201);
  }
  await service.ask('POST', '/data/stores/m/activate');
  await service.waitForJob('load:m');
  expect(await listReadableVersions()).toEqual([[5, true], ...before]);
  expect((await findVersions()).versions[0]).toMatchObject({ rows_added: 8, rows_changed: 0, rows_removed: 0 });
  expect((await service.ask('GET', '/data/prices/B?as_known_on=2')).body).toEqual(earlierAnswers[1]!.answers[0]);
  await service.ask('POST', '/data/stores/f/activate');
  await service.waitForJob('load:f');
});

test('a store that was not served meanwhile keeps its versions when data is imported into it', async () => {
  const before = await listReadableVersions();
  const requestPrices = (query: string) => service.ask('GET', `/data/prices/B${query}`);
  await importStore(createTables(45, CORRECTED_CLOSES), 'append'); // the folder is served until the import
  expect(await listReadableVersions()).toEqual([[6, true], ...before]);
  expect((await requestPrices('?as_known_on=2')).body).toEqual(earlierAnswers[1]!.answers[0]);
  expect((await findVersions()).versions[0]).toMatchObject({ source: 'append', rows_added: 4, rows_changed: 0 });
});
