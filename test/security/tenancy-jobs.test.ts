import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JobRetries } from '#contract/jobs.js';
import { runService, type RunningService } from '../services/running-service.js';
import { DIVISOR_API_KEYS, createIndex, keys, operator, getOther, TENANTS, type Tenant } from './two-tenants.js';

/** Service for jobs about several documents and for streams. Tenants start, retry and follow only their own jobs. */
let service: RunningService;

const createKeyHeader = (key: string): Record<string, string> => ({ 'x-api-key': key });
const createTenantHeader = (tenant: Tenant) => createKeyHeader(keys[tenant].key);

async function requireSuccess<T>(tenant: Tenant, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await service.ask<T>(method, path, body, createTenantHeader(tenant));
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Returns the final state of a job. */
async function waitForJob(tenant: Tenant, jobId: string): Promise<string> {
  return (await service.waitForJob(jobId, createTenantHeader(tenant))).status;
}

async function startJob(tenant: Tenant, path: string, body: unknown = {}): Promise<string> {
  const { job_id: id } = await requireSuccess<{ job_id: string }>(tenant, 'POST', path, body);
  return id;
}

/** Creates an index whose backtest always fails. */
const createBrokenIndex = (tenant: Tenant) =>
  createIndex(`${tenant}broken`, {
    plugins: { FAILING: { plugin: `${tenant}failing` } },
    pipeline: {
      selection: [{ id: 'none', type: 'PluginFilter', params: { plugin: 'FAILING' } }],
      weighting: { type: 'EqualWeight' },
    },
  });

beforeAll(async () => {
  service = await runService(['--tenancy', 'prefix'], { DIVISOR_API_KEYS });
  const market = { store_id: 'market', seed: 3, assets: 6, start: '2022-01-03', end: '2024-06-28' };
  await service.ask('POST', '/data/synthetic', market, createKeyHeader(operator.key));
  await service.waitForJob('generate:market', createKeyHeader(operator.key));
  for (const tenant of TENANTS) {
    await requireSuccess(tenant, 'PUT', `/indices/${tenant}eq`, createIndex(`${tenant}eq`));
    const source = 'function compute({ close }) { throw new Error("no " + close.length); }';
    const plugin = { name: `${tenant}failing secret`, kind: 'selection', inputs: { close: 'CLOSE' }, source };
    await requireSuccess(tenant, 'PUT', `/plugins/${tenant}failing`, plugin);
    await requireSuccess(tenant, 'PUT', `/indices/${tenant}broken`, createBrokenIndex(tenant));
  }
});
afterAll(() => service.close());

describe('failed jobs', () => {
  beforeAll(async () => {
    for (const tenant of TENANTS)
      expect(await waitForJob(tenant, await startJob(tenant, `/analytics/${tenant}broken/backtest`))).toBe('failed');
  });

  test.each(TENANTS)('only of %s are queued again by it', async (tenant) => {
    const retries = await requireSuccess<JobRetries>(tenant, 'POST', '/jobs/retry', { kinds: ['backtest'] });
    expect(retries).toEqual({ retried: [`backtest:${tenant}broken`], refused: [], is_complete: true });
    expect(await waitForJob(tenant, `backtest:${tenant}broken`)).toBe('failed');
  });

  test('of an index that is shared are visible to others, who cannot queue them again', async () => {
    await requireSuccess('alpha-', 'PUT', '/access/index/alpha-broken', { shared_with: ['bravo'] });
    const { retried, refused } = await requireSuccess<JobRetries>('bravo-', 'POST', '/jobs/retry');
    expect(retried).toEqual(['backtest:bravo-broken']);
    expect(refused).toMatchObject([{ job_id: 'backtest:alpha-broken', code: 'INDEX_NOT_FOUND' }]);
    await requireSuccess('alpha-', 'PUT', '/access/index/alpha-broken', { shared_with: [] });
    expect(await waitForJob('bravo-', 'backtest:bravo-broken')).toBe('failed');
  });

  test('of both are queued again by the operator', async () => {
    const { body } = await service.ask<JobRetries>('POST', '/jobs/retry', {}, createKeyHeader(operator.key));
    expect(body.retried.toSorted()).toEqual(['backtest:alpha-broken', 'backtest:bravo-broken']);
    for (const tenant of TENANTS) await waitForJob(tenant, `backtest:${tenant}broken`);
  });
});

test.each(TENANTS)('a batch of %s starts only its own indices', async (tenant) => {
  const other = getOther(tenant);
  const ids = [`${tenant}eq`, `${other}eq`, `${other}broken`];
  const batch = await requireSuccess<{
    backtests: { index_id: string; job: object | null; error: { code: string } | null }[];
  }>(tenant, 'POST', '/analytics/backtests', { ids });
  expect(JSON.stringify(batch)).not.toContain('secret');
  expect(batch.backtests.map(({ error }) => error?.code ?? null)).toEqual([null, 'INDEX_NOT_FOUND', 'INDEX_NOT_FOUND']);
  expect(await waitForJob(tenant, `backtest:${tenant}eq`)).toBe('succeeded');
});

describe('a sweep', () => {
  const grid = { '/request/transaction_cost_bps': [0, 5] };
  const createSweepBody = (tenant: Tenant) => ({ index_id: `${tenant}eq`, grid });
  const createDraftBody = (tenant: Tenant) => ({ document: createIndex('draft'), sweep_id: `${tenant}draft`, grid });
  const createUnnamedDraft = () => ({ document: createIndex('draft'), grid });

  test.each([
    ['of a stored index', createSweepBody],
    ['of a stored index, by a name', (tenant: Tenant) => ({ ...createSweepBody(tenant), sweep_id: `${tenant}caps` })],
    ['of a document that is not stored, by a name', createDraftBody],
    ['of a document that is not stored', createUnnamedDraft],
  ])('%s is read by its tenant alone', async (_, createBody) => {
    for (const tenant of TENANTS) {
      const jobId = await startJob(tenant, '/analytics/sweeps', createBody(tenant));
      expect(jobId.startsWith(`sweep:${tenant}`)).toBe(true);
      expect([jobId, await waitForJob(tenant, jobId)]).toEqual([jobId, 'succeeded']);
      const rowsPath = `/analytics/sweeps/${jobId.slice('sweep:'.length)}/rows`;
      const paths = [rowsPath, `/jobs/${jobId}`, `/jobs/${jobId}/events`];
      const readStatuses = async (by: Tenant) =>
        Promise.all(
          paths.map(async (path) => {
            const answer = await service.download(path, { headers: createTenantHeader(by) });
            await answer.body?.cancel();
            return answer.status;
          }),
        );
      expect(await readStatuses(tenant)).toEqual([200, 200, 200]);
      expect(await readStatuses(getOther(tenant))).toEqual([404, 404, 404]);
      expect(
        (await service.ask('DELETE', `/jobs/${jobId}`, undefined, createTenantHeader(getOther(tenant)))).status,
      ).toBe(404);
    }
  });

  test.each(['caps', 'bravo-caps'])('by the name %s outside its prefixes is refused', async (name) => {
    const body = { ...createSweepBody('alpha-'), sweep_id: name };
    expect((await service.ask('POST', '/analytics/sweeps', body, createTenantHeader('alpha-'))).status).toBe(403);
  });

  test('of an index that is shared is cancelled by the client that started it', async () => {
    await requireSuccess('bravo-', 'PUT', '/access/index/bravo-eq', { shared_with: ['alpha'] });
    const jobId = await startJob('alpha-', '/analytics/sweeps', {
      ...createSweepBody('bravo-'),
      sweep_id: 'alpha-shared',
    });
    expect(await requireSuccess('alpha-', 'DELETE', `/jobs/${jobId}`)).toMatchObject({ job_id: jobId });
    await requireSuccess('bravo-', 'PUT', '/access/index/bravo-eq', { shared_with: [] });
    expect((await service.ask('GET', `/jobs/${jobId}`, undefined, createTenantHeader('alpha-'))).status).toBe(404);
  });
});

test.each(['/jobs/events?seconds=600', '/jobs/backtest:alpha-broken/events'])(
  '%s ends before the next event once a document is no longer shared',
  async (path) => {
    const readShare = (names: readonly string[]) =>
      requireSuccess('alpha-', 'PUT', '/access/index/alpha-broken', { shared_with: names });
    await readShare(['bravo']);
    const { body } = await service.download(path, { headers: createTenantHeader('bravo-') });
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const isRead = path.includes('seconds') ? () => text.includes('caught-up') : () => text.includes('failed');
    while (!isRead()) text += (await reader.read()).value;
    await readShare([]);
    const secondJob = await startJob('alpha-', '/analytics/alpha-broken/backtest');
    const otherJobs: string[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) otherJobs.push(part.value);
    expect(otherJobs.join('')).toBe('');
    await waitForJob('alpha-', secondJob);
  },
);
