import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import type { Route } from '#contract/route.js';
import { knowsPrefixes } from '#contract/operations.js';
import { startProvider, type Provider } from '../http/oidc-provider.js';
import { runService, type RunningService } from '../services/running-service.js';
import { createPaths, isOfTenant, addNames, type OpenApiPaths } from './route-paths.js';
import { signIn } from './signed-in.js';
import {
  chooseSome,
  DIVISOR_API_KEYS,
  GRANTS,
  createIndex,
  processInTurns,
  issueTestKey,
  keys,
  keysWithoutScope,
  onOpenConnection,
  operator,
  getOther,
  TENANTS,
  WAITING_AT_ONCE,
  type Tenant,
} from './two-tenants.js';

/**
 * Service for requests of every operation by every kind of client for the documents of every tenant. Two tenants have
 * documents of all families with different prefixes. If a response contains an object of another tenant, the prefix
 * shows it. Each tenant has a key, a token and a signed-in browser.
 */
let service: RunningService;
let provider: Provider;
/** Request headers by kind of client and tenant. */
const clients: Record<string, Readonly<Record<Tenant, Readonly<Record<string, string>>>>> = {};
const renders: Record<string, string> = {};
const optimisations: Record<string, string> = {};

const asKey = (key: string | undefined): Record<string, string> => (key === undefined ? {} : { 'x-api-key': key });
const asTenant = (tenant: Tenant) => asKey(keys[tenant].key);

async function requireOk<T>(tenant: Tenant, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await service.ask<T>(method, path, body, asTenant(tenant));
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function settle(tenant: Tenant): Promise<void> {
  const indexId = `${tenant}eq`;
  await requireOk(tenant, 'PUT', `/indices/${indexId}`, createIndex(indexId));
  await requireOk(tenant, 'PUT', `/strategies/${tenant}desk`, {
    id: `${tenant}desk`,
    name: `${tenant}desk secret`,
    index_id: indexId,
  });
  const constraints = [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.5 } }];
  await requireOk(tenant, 'PUT', `/optimise/constraint-sets/${tenant}set`, {
    id: `${tenant}set`,
    name: `${tenant}set secret`,
    constraints,
  });
  const blocks = [{ kind: 'header', index_id: indexId }];
  await requireOk(tenant, 'PUT', `/reports/templates/${tenant}page`, {
    template_id: `${tenant}page`,
    name: `${tenant}page secret`,
    blocks,
  });
  await requireOk(tenant, 'PUT', `/data/watchlists/${tenant}list`, { name: `${tenant}list secret`, identifiers: [] });
  const runJob = async (path: string, body: unknown) => {
    const { job_id: id } = await requireOk<{ job_id: string }>(tenant, 'POST', path, body);
    const job = await service.waitForJob(id, asTenant(tenant));
    expect([id, job.status, job.error]).toEqual([id, 'succeeded', null]);
    return id.slice(id.indexOf(':') + 1);
  };
  await runJob(`/analytics/${indexId}/backtest`, {});
  [renders[tenant] = '', optimisations[tenant] = ''] = await Promise.all([
    runJob('/reports/render', { template_id: `${tenant}page` }),
    runJob('/optimise/runs', { index_id: indexId, constraint_set_id: `${tenant}set` }),
    runJob(`/risk-models/${tenant}model/estimate`, { index_id: indexId }),
  ]);
  const source = 'function compute({ close }) { return close; }';
  const plugin = { name: `${tenant}plugin secret`, kind: 'datapoint', inputs: { close: 'CLOSE' }, source };
  await requireOk(tenant, 'PUT', `/plugins/${tenant}plugin`, plugin);
  const content = 'identifier,date,CLOSE\nA,2024-01-02,10\n';
  await requireOk(tenant, 'POST', '/data/import', {
    store_id: `${tenant}store`,
    name: `${tenant}store secret`,
    format: 'csv',
    content,
  });
}

beforeAll(async () => {
  provider = await startProvider('console');
  const { issuer } = provider;
  const oidcFlags = ['--oidc-issuer', issuer, '--oidc-audience', 'divisor', '--oidc-client-id', 'console'];
  const grants = GRANTS.flatMap((grant) => ['--oidc-scopes', grant]);
  service = await runService(['--tenancy', 'prefix', ...oidcFlags, ...grants], { DIVISOR_API_KEYS });
  const market = { store_id: 'market', seed: 3, assets: 6, start: '2022-01-03', end: '2024-06-28' };
  await service.ask('POST', '/data/synthetic', market, asKey(operator.key));
  await service.waitForJob('generate:market', asKey(operator.key));
  for (const tenant of TENANTS) await settle(tenant);
  clients['key'] = { 'alpha-': asTenant('alpha-'), 'bravo-': asTenant('bravo-') };
  clients['token'] = { 'alpha-': await asBearer(toPerson('alpha-')), 'bravo-': await asBearer(toPerson('bravo-')) };
  clients['browser'] = { 'alpha-': await signInBrowser('alpha-'), 'bravo-': await signInBrowser('bravo-') };
});
afterAll(async () => {
  await service.close();
  await provider.close();
});

const toPerson = (tenant: Tenant) => ({ sub: `${tenant.at(0)}-person`, name: 'Person', team: tenant });
const asBearer = async (claims: object): Promise<Record<string, string>> => ({
  authorization: `Bearer ${await provider.token({ sub: 'somebody', ...claims })}`,
});
async function signInBrowser(tenant: Tenant): Promise<Record<string, string>> {
  provider.person = toPerson(tenant);
  const { cookie, csrf } = await signIn(service.url());
  return { cookie, 'x-csrf-token': csrf };
}

const operations = Object.entries(API as Record<string, Route>);

const formatPath = createPaths((tenant) => ({ run_id: optimisations[tenant]!, render_id: renders[tenant]! }));
const isEndless = (id: string): boolean => id.startsWith('follow');
/** Returns true for operations that write. They would delete objects that later rows of the matrix request. */
const isMutation = ({ method, scope }: Route): boolean => method !== 'GET' && scope !== 'read';

async function requestRoute(route: Route, path: string, headers: Record<string, string>) {
  const hasBody = route.body !== undefined;
  return onOpenConnection(async () => {
    const response = await fetch(service.url() + path, {
      method: route.method,
      headers: { ...headers, ...(hasBody && { 'content-type': 'application/json' }) },
      ...(hasBody && { body: '{}' }),
      signal: AbortSignal.timeout(150_000),
    });
    return { status: response.status, text: await response.text() };
  });
}

describe('operations x clients x tenants', () => {
  test('the matrix has a value for every parameter, so no operation is omitted', () => {
    for (const [, route] of operations) expect(() => formatPath(route, 'alpha-')).not.toThrow();
  });

  /**
   * Returns the rows of the matrix. Each row is an operation with a kind of client of a tenant. With SOAK, all kinds
   * and tenants are used. Otherwise each operation has one of them in turn.
   */
  const createRows = (isAsked: (id: string, route: Route) => boolean) =>
    operations
      .filter(([id, route]) => route.scope !== 'open' && isAsked(id, route))
      .flatMap(([id, route], i) =>
        chooseSome(
          i,
          Object.keys(clients).flatMap((client) => TENANTS.map((tenant) => ({ client, tenant }))),
        ).map(({ client, tenant }) => ({ id, route, tenant, client, headers: clients[client]![tenant] })),
      );

  test('another tenant finds no document, and changes none', async () => {
    const deviations: string[] = [];
    const asks = createRows((_, route) => isOfTenant(route));
    await processInTurns(asks, async ({ id, route, tenant, client, headers }) => {
      const { status } = await requestRoute(route, formatPath(route, getOther(tenant)), headers);
      if (status !== 404) deviations.push(`${tenant} ${client} ${id}: ${status}`);
    });
    console.log(`${asks.length} asks for documents of another tenant, deviations ${deviations.length}`);
    expect(deviations).toEqual([]);
  });

  test('no answer to a tenant reveals another tenant', async () => {
    const deviations: string[] = [];
    const asks = createRows((id, route) => !isEndless(id) && !isMutation(route));
    await processInTurns(asks, async ({ id, route, tenant, client, headers }) => {
      const { status, text } = await requestRoute(route, formatPath(route, tenant), headers);
      const description = `${tenant} ${client} ${id}`;
      if (text.includes(getOther(tenant))) deviations.push(`${description}: ${status} ${text.slice(0, 200)}`);
      const isKnown = knowsPrefixes(id, route);
      if (isKnown && isOfTenant(route) && status === 403) deviations.push(`${description}: own refused`);
      if (!isKnown && status !== 403) deviations.push(`${description}: ${status} without knowing prefixes`);
    });
    console.log(`${asks.length} asks for a tenant's own, deviations ${deviations.length}`);
    expect(deviations).toEqual([]);
  });

  test('without a key, with a wrong key or without the scope every request is refused', async () => {
    const forgedToken = await provider.token(toPerson('alpha-'), { issuer: 'https://elsewhere.example' });
    const refusedStatuses = [
      ['nobody', {}],
      ['a wrong key', asKey(issueTestKey('wrong').key)],
      ['a token of another issuer', { authorization: `Bearer ${forgedToken}` }],
      ['a cookie that was made up', { cookie: 'divisor_session=AAAA' }],
    ] as const;
    const closedOperations = operations.filter(([, { scope }]) => scope !== 'open');
    const asks = closedOperations.flatMap(([id, route], i) =>
      chooseSome(i, refusedStatuses).map(([who, headers]) => ({ id, route, who, headers, expected: 401 })),
    );
    for (const {
      scope,
      issued: { key },
    } of keysWithoutScope) {
      const bothTenants = [
        [`a key without ${scope}`, asKey(key)],
        [`a token without ${scope}`, await asBearer({ lacks: scope })],
      ] as const;
      for (const [i, [id, route]] of closedOperations.entries())
        if (route.scope === scope)
          for (const [who, headers] of chooseSome(i, bothTenants))
            asks.push({ id, route, who, headers, expected: 403 } as never);
    }
    const deviations: string[] = [];
    const ask = async ({ id, route, who, headers, expected }: (typeof asks)[number]) => {
      const { status } = await requestRoute(route, formatPath(route, 'alpha-'), headers);
      if (status !== expected) deviations.push(`${who} ${id}: ${status}`);
    };
    await processInTurns(asks, ask, WAITING_AT_ONCE);
    console.log(`${asks.length} asks without a right, deviations ${deviations.length}`);
    expect(deviations).toEqual([]);
  });
});

describe('a tenant sees only its own entries in lists, streams and the log', () => {
  test.each([
    ['/indices', 'alpha-eq'],
    ['/strategies', 'alpha-desk'],
    ['/optimise/constraint-sets', 'alpha-set'],
    ['/reports/templates', 'alpha-page'],
    ['/reports/renders', 'alpha-'],
    ['/data/watchlists', 'alpha-list'],
    ['/data/stores', 'alpha-store'],
    ['/risk-models', 'alpha-model'],
    ['/analytics/backtests', 'alpha-eq'],
    ['/analytics/summaries', 'alpha-eq'],
    ['/jobs', 'backtest:alpha-eq'],
    ['/jobs?limit=1', 'alpha-'],
    ['/audit', 'alpha-eq'],
    ['/events', 'alpha-eq'],
    ['/jobs/events?seconds=0', ''],
  ])('%s', async (path, known) => {
    const text = await (await service.download(path, { headers: asTenant('alpha-') })).text();
    expect(text).toContain(known);
    expect(text).not.toContain('bravo-');
  });

  test('the operator sees all entries', async () => {
    for (const path of ['/indices', '/jobs', '/audit', '/analytics/summaries'])
      for (const tenant of TENANTS)
        expect(await (await service.download(path, { headers: asKey(operator.key) })).text()).toContain(tenant);
  });
});

describe('a reference does not reach documents of another tenant', () => {
  const bravoId = 'bravo-eq';
  test.each([
    [
      'POST',
      '/indices/preview',
      { document: createIndex('alpha-x', { universe: { kind: 'index', index_id: bravoId } }) },
    ],
    ['PUT', '/strategies/alpha-x', { id: 'alpha-x', name: 'X', index_id: bravoId }],
    ['GET', `/analytics/compare?ids=alpha-eq,${bravoId}`, undefined],
    ['GET', `/analytics/alpha-eq/weights?benchmark=${bravoId}`, undefined],
    ['POST', '/optimise/runs', { index_id: 'alpha-eq', constraint_set_id: 'bravo-set' }],
    ['POST', '/optimise/runs', { index_id: bravoId, constraint_set_id: 'alpha-set' }],
    ['POST', '/reports/render', { template_id: 'bravo-page' }],
    ['POST', '/reports/render', { template_id: 'FACTSHEET-A4', index_id: bravoId }],
    ['POST', '/analytics/sweeps', { index_id: bravoId, grid: { '/document/pipeline/weighting/cap': [0.5] } }],
    ['POST', '/indices', createIndex('alpha-y', { plugins: { OTHERS: { plugin: 'bravo-plugin' } } })],
    ['GET', '/data/prices/A?store_id=bravo-store', undefined],
  ])('%s %s %j', async (method, path, body) => {
    const { status, body: answer } = await service.ask(method, path, body, asTenant('alpha-'));
    expect([status >= 400 && status < 500, JSON.stringify(answer).includes('secret')]).toEqual([true, false]);
  });

  test('no member of a body that names a document reveals another tenant', async () => {
    const { body: api } = await service.ask<OpenApiPaths>('GET', '/openapi.json', undefined, asKey(operator.key));
    const foreignIds = ['eq', 'desk', 'set', 'page', 'list', 'store', 'model'].map((name) => `bravo-${name}`);
    const asks = Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { requestBody }]) =>
        chooseSome(path.length, foreignIds).flatMap((id) =>
          addNames(requestBody?.content['application/json']?.example, id).map((body) => ({ path, method, body })),
        ),
      ),
    );
    const deviations: string[] = [];
    await processInTurns(asks, async ({ path, method, body }) => {
      const address = formatPath({ path } as Route, 'alpha-');
      const { status, body: answer } = await service.ask(method.toUpperCase(), address, body, asTenant('alpha-'));
      const isShown = /bravo-\w+ secret/.test(JSON.stringify(answer));
      if (isShown || status >= 500)
        deviations.push(`${method} ${path} ${status} ${JSON.stringify(body).slice(0, 300)}`);
    });
    console.log(`${asks.length} bodies that name documents of another tenant, deviations ${deviations.length}`);
    expect(deviations).toEqual([]);
  });

  test.each([
    ['POST', '/indices', createIndex('bravo-new')],
    ['POST', '/indices', createIndex('unprefixed')],
    ['POST', '/strategies', { id: 'bravo-new', name: 'New', index_id: 'alpha-eq' }],
    [
      'POST',
      '/data/import',
      { store_id: 'bravo-new', name: 'n', format: 'csv', content: 'identifier,date,CLOSE\nA,2024-01-02,1\n' },
    ],
    ['POST', '/data/synthetic', { store_id: 'bravo-new', seed: 1, assets: 3, start: '2023-01-03', end: '2023-06-30' }],
  ])('a document with an id outside the prefixes is not created: %s %s %j', async (method, path, body) => {
    const { status } = await service.ask(method, path, body, asTenant('alpha-'));
    expect(status).toBe(403);
  });
});

describe('sharing', () => {
  test('lets another tenant read an index and its runs, and nothing else', async () => {
    const requestStatus = async (method: string, path: string, body?: unknown) =>
      (await service.ask(method, path, body, asTenant('bravo-'))).status;
    const readShare = (names: readonly string[]) =>
      service.ask('PUT', '/access/index/alpha-eq', { shared_with: names }, asTenant('alpha-'));
    expect(await requestStatus('GET', '/indices/alpha-eq')).toBe(404);
    expect(await readShare(['bravo'])).toMatchObject({
      status: 200,
      body: { owner: { key_id: keys['alpha-'].record.id, name: 'alpha' }, shared_with: ['bravo'] },
    });
    for (const path of [
      '/indices/alpha-eq',
      '/analytics/alpha-eq/levels',
      '/access/index/alpha-eq',
      '/jobs/backtest:alpha-eq',
    ])
      expect([path, await requestStatus('GET', path)]).toEqual([path, 200]);
    expect(await requestStatus('PUT', '/indices/alpha-eq', createIndex('alpha-eq'))).toBe(404);
    expect(await requestStatus('DELETE', '/jobs/backtest:alpha-eq')).toBe(404);
    expect(await requestStatus('PUT', '/access/index/alpha-eq', { shared_with: [] })).toBe(404);
    expect(await requestStatus('GET', '/strategies/alpha-desk')).toBe(404);
    await readShare([]);
    expect(await requestStatus('GET', '/indices/alpha-eq')).toBe(404);
  });

  test('versions and the log contain the key of the author', async () => {
    const { body } = await service.ask('GET', '/indices/alpha-eq/versions', undefined, asTenant('alpha-'));
    expect(body).toMatchObject({ versions: [{ author: 'alpha', key_id: keys['alpha-'].record.id }] });
    const log = await service.ask<{ entries: { id: string; key_id?: string }[] }>(
      'GET',
      '/audit?kind=run&id=alpha-eq',
      undefined,
      asKey(operator.key),
    );
    expect(log.body.entries[0]).toMatchObject({ key_id: keys['alpha-'].record.id });
  });
});
