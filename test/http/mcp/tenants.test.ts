import { afterAll, beforeAll, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import type { Route } from '#contract/route.js';
import type { SqlResult } from '#contract/sql.js';
import { knowsPrefixes } from '#contract/operations.js';
import { DIVISOR_API_KEYS, createIndex, keys, operator, TENANTS, type Tenant } from '../../security/two-tenants.js';
import { runService, type RunningService } from '../../services/running-service.js';
import { openAgent, readError, readText, listTools, type Agent } from './agent.js';

/**
 * Service with agents of two tenants and an agent without limits. Each tenant has documents and runs, and its agent may
 * use only ids with one prefix.
 */
let service: RunningService;
let agents: Readonly<Record<Tenant, Agent>>;
let unlimitedAgent: Agent;

beforeAll(async () => {
  service = await runService(['--tenancy', 'prefix'], { DIVISOR_API_KEYS });
  const openAgentWithKey = (key: string) => openAgent(service.url(), { key, tools: 'all' });
  agents = {
    'alpha-': await openAgentWithKey(keys['alpha-'].key),
    'bravo-': await openAgentWithKey(keys['bravo-'].key),
  };
  unlimitedAgent = await openAgentWithKey(operator.key);
  const market = { store_id: 'market', seed: 3, assets: 6, start: '2022-01-03', end: '2024-06-28' };
  await waitForJobEnd(unlimitedAgent, await unlimitedAgent.ok('generateSynthetic', { body: market }));
  for (const tenant of TENANTS) {
    const agent = agents[tenant];
    await agent.ok('putIndex', { index_id: `${tenant}eq`, body: createIndex(`${tenant}eq`) });
    await waitForJobEnd(agent, await agent.ok('startBacktest', { index_id: `${tenant}eq`, body: {} }));
  }
});
afterAll(async () => {
  for (const agent of [unlimitedAgent, ...Object.values(agents)]) await agent.close();
  await service.close();
});

interface Job {
  readonly job_id: string;
  readonly status: string;
}

async function waitForJobEnd(agent: Agent, started: Job): Promise<void> {
  const job = await agent.ok<Job>('waitForJob', { job_id: started.job_id, seconds: 50 });
  expect(job.status).toBe('succeeded');
}

test('tools read, write and run within the prefixes; documents of others are absent', async () => {
  const { 'alpha-': alpha } = agents;
  expect(readText(await alpha.call('listIndices'))).toMatch(/alpha-eq(?!.*bravo-)/s);
  expect(readText(await alpha.call('getLevels', { index_id: 'alpha-eq' }))).toContain('alpha-eq');
  for (const [tool, toolArguments] of [
    ['getIndex', { index_id: 'bravo-eq' }],
    ['getLevels', { index_id: 'bravo-eq' }],
    ['startBacktest', { index_id: 'bravo-eq', body: {} }],
    ['getJob', { job_id: 'backtest:bravo-eq' }],
    ['waitForJob', { job_id: 'backtest:bravo-eq' }],
    ['cancelJob', { job_id: 'backtest:bravo-eq' }],
    ['deleteIndex', { index_id: 'bravo-eq' }],
  ] as const)
    expect([tool, readError(await alpha.call(tool, toolArguments)).error.code]).toEqual([
      tool,
      expect.stringMatching(/_NOT_FOUND$/),
    ]);
  const put = await alpha.call('putIndex', { index_id: 'bravo-new', body: createIndex('bravo-new') });
  expect(readError(put).error.code).toMatch(/FORBIDDEN_ID|INDEX_NOT_FOUND/);
  expect(readError(await alpha.call('getMetrics')).error.code).toBe('FORBIDDEN_ID');
  expect(readText(await agents['bravo-'].call('getIndex', { index_id: 'bravo-eq' }))).toContain('bravo-eq');
});

test('SQL, resources and prompts show nothing of another tenant', async () => {
  for (const tenant of TENANTS) {
    const agent = agents[tenant];
    const { data } = await agent.ok<SqlResult>('runSql', { body: { query: 'SELECT DISTINCT index_id FROM weights' } });
    expect(data).toEqual([[`${tenant}eq`]]);
    const other = TENANTS.find((each) => each !== tenant)!;
    const { resources } = await agent.client.listResources();
    expect(JSON.stringify(resources)).toContain(`${tenant}eq`);
    expect(JSON.stringify(resources)).not.toContain(other);
    const { contents } = await agent.client.readResource({ uri: `divisor://service/indices/${tenant}eq` });
    expect(JSON.stringify(contents)).toContain(`${tenant}eq secret`);
    await expect(agent.client.readResource({ uri: `divisor://service/indices/${other}eq` })).rejects.toThrow();
  }
});

test('routes that concern the whole service are no tools for a limited key', async () => {
  const list = new Set((await listTools(agents['alpha-'])).map(({ name }) => name));
  const toolNames = new Set((await listTools(unlimitedAgent)).map(({ name }) => name));
  const limitedRoutes = Object.entries(API as Record<string, Route>).filter(([id, route]) => !knowsPrefixes(id, route));
  const hiddenTools = limitedRoutes.map(([id]) => id).filter((id) => toolNames.has(id));
  expect(hiddenTools.length).toBeGreaterThan(0);
  expect(hiddenTools.filter((id) => list.has(id))).toEqual([]);
});
