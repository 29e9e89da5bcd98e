import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { DataStore, DataStoreCollection, ImportResult } from '#contract/stores.js';
import type { Finding } from '#domain/base/findings.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import { pauseReaders } from '../../market/process/reading-processes.js';
import { runService, type RunningService } from '../running-service.js';

let service: RunningService;
beforeAll(async () => {
  service = await runService();
});
afterAll(() => service.close());

const SMALL_MARKET = { assets: 3, start: '2020-01-02', end: '2020-06-30', activate: false };

describe('a pending request for synthetic data', () => {
  test.each([
    ['with an id', { store_id: 'twice' }],
    ['without one', { seed: 77 }],
  ])('%s answers the same request with its job', async (_what, namedRequest) => {
    const resumeReaders = pauseReaders();
    onTestFinished(resumeReaders);
    const body = { ...SMALL_MARKET, ...namedRequest };
    const [first, second] = await Promise.all([
      service.ask<JobStatus>('POST', '/data/synthetic', body),
      service.ask<JobStatus>('POST', '/data/synthetic', body),
    ]);
    const third = await service.ask<JobStatus>('POST', '/data/synthetic', body);
    resumeReaders();
    expect([first.status, second.status, third.status]).toEqual([202, 202, 202]);
    expect(new Set([first.body.job_id, second.body.job_id, third.body.job_id]).size).toBe(1);
    expect((await service.waitForJob(first.body.job_id)).status).toBe('succeeded');
    const { stores } = (await service.ask<DataStoreCollection>('GET', '/data/stores')).body;
    expect(stores.filter(({ store_id }) => `generate:${store_id}` === first.body.job_id)).toHaveLength(1);
    expect(stores.filter(({ store_id }) => store_id.startsWith('synthetic-77')).length).toBeLessThanOrEqual(1);
  });

  test('refuses another request under its id', async () => {
    const resumeReaders = pauseReaders();
    onTestFinished(resumeReaders);
    const { body } = await service.ask<JobStatus>('POST', '/data/synthetic', { ...SMALL_MARKET, store_id: 'other' });
    expect(
      await service.refusal('POST', '/data/synthetic', { ...SMALL_MARKET, store_id: 'other', seed: 1 }),
    ).toMatchObject({
      status: 409,
      code: 'STORE_EXISTS',
    });
    resumeReaders();
    await service.waitForJob(body.job_id);
    expect(await service.refusal('POST', '/data/synthetic', { ...SMALL_MARKET, store_id: 'other' })).toMatchObject({
      status: 409,
      code: 'STORE_EXISTS',
    });
  });
});

test('the most assets over the default range are accepted; more bars are refused by the limit of /health', async () => {
  const largestRequest = { store_id: 'most', assets: 5000, activate: false };
  const resumeReaders = pauseReaders();
  onTestFinished(resumeReaders);
  const { status, body } = await service.ask<JobStatus>('POST', '/data/synthetic', largestRequest);
  expect([status, body.job_id]).toEqual([202, 'generate:most']);
  expect((await service.ask<JobStatus>('DELETE', '/jobs/generate:most')).body.status).toBe('cancelled');
  const { MAX_SYNTHETIC_BARS: limit } = (await service.ask<{ limits: Record<string, number> }>('GET', '/health')).body
    .limits;
  expect(await service.refusal('POST', '/data/synthetic', { ...largestRequest, start: '1990-01-02' })).toMatchObject({
    status: 422,
    detail: { findings: [{ code: 'OUT_OF_RANGE', path: 'assets', message: expect.stringContaining(`${limit}`) }] },
  });
});

describe('a synthetic market beyond the sessions that are known', () => {
  const listFindings = async (path: string, body: object) => {
    const { status, detail } = await service.refusal('POST', path, body);
    return [
      status,
      ...(detail as { findings: Finding[] }).findings.map(({ code, path: at, message }) => `${code} ${at}: ${message}`),
    ];
  };

  test('is refused by both dates, at its end and at its start', async () => {
    expect(await listFindings('/data/synthetic', { ...SMALL_MARKET, end: '2041-06-28' })).toEqual([
      422,
      'OUT_OF_RANGE end: end is 2041-06-28; sessions of XNYS are known and generated up to 2030-12-31.',
    ]);
    expect(await listFindings('/data/synthetic', { ...SMALL_MARKET, calendar: 'XTKS', start: '1980-01-02' })).toEqual([
      422,
      'OUT_OF_RANGE start: start is 1980-01-02; sessions of XTKS are known and generated from 1997-01-01 on.',
    ]);
  });

  test('is refused by both dates when it would be extended beyond them', async () => {
    await service.ask('POST', '/data/synthetic', { ...SMALL_MARKET, store_id: 'short' });
    await service.waitForJob('generate:short');
    expect(await listFindings('/data/stores/short/refresh', { until: '2041-06-28' })).toEqual([
      422,
      'OUT_OF_RANGE until: until is 2041-06-28; sessions of XNYS are known and generated up to 2030-12-31.',
    ]);
    expect((await service.ask<DataStore>('GET', '/data/stores/short')).body.end).toBe('2020-06-30');
    expect((await service.ask('POST', '/data/stores/short/refresh', { until: '2020-07-31' })).status).toBe(202);
    expect((await service.waitForJob('refresh:short')).result).toMatchObject({ end: '2020-07-31' });
  });
});

test('a bar on a day that is no session of the calendar of a stored index, or of an exchange, is warned of', async () => {
  const data = [
    ['A', '2024-01-05', 10],
    ['A', '2024-01-06', 11],
  ];
  const market = { index: [0, 1], columns: ['identifier', 'date', 'CLOSE'], data };
  const listCodes = ({ findings }: { readonly findings?: readonly { code: string; path: string }[] | undefined }) =>
    (findings ?? []).map(({ code, path }) => `${code} ${path}`);
  const importAs = async (id: string, more: object = {}) =>
    (await service.ask<ImportResult>('POST', '/data/import', { store_id: id, name: id, tables: { market, ...more } }))
      .body;
  expect(listCodes(await importAs('no-calendar'))).toEqual([]);
  expect(
    listCodes(
      await importAs('by-exchange', {
        reference: { index: [0], columns: ['identifier', 'EXCHANGE'], data: [['A', 'XNYS']] },
      }),
    ),
  ).toEqual(['NOT_A_SESSION market[2024-01-06]']);
  await service.ask('PUT', '/indices/IN-USE', {
    id: 'IN-USE',
    name: 'In use',
    calendar: 'XLON',
    base_date: '2024-01-02',
    pipeline: { weighting: { type: 'EqualWeight' } },
  });
  // An index without a store uses the active store.
  expect(listCodes(await importAs('of-no-index'))).toEqual([]);
  const warnings = ['NOT_A_SESSION market[2024-01-06]'];
  const importActive = async (id: string) =>
    (
      await service.ask<ImportResult>('POST', '/data/import', {
        store_id: id,
        name: id,
        tables: { market },
        activate: true,
      })
    ).body;
  expect(listCodes(await importActive('by-index'))).toEqual(warnings);
  expect(listCodes((await service.ask<DataStore>('GET', '/data/stores/by-index')).body)).toEqual(warnings);
});
