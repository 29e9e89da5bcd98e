import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API } from '#contract/api.js';
import { SCOPES, type Route } from '#contract/route.js';
import { issueKey } from '#services/operations/keys.js';
import { knowsPrefixes } from '#http/route-access.js';
import { runService, type RunningService } from '../services/running-service.js';

/**
 * Every operation asked by every kind of client for the documents of every tenant. Two tenants have documents of all
 * families, by prefixes of their own; what a client is shown of another is found by the prefix.
 */
const TENANTS = ['alpha-', 'bravo-'] as const;
type Tenant = (typeof TENANTS)[number];
const otherOf = (tenant: Tenant): Tenant => (tenant === 'alpha-' ? 'bravo-' : 'alpha-');

const issued = (name: string, prefixes?: readonly string[], scopes: readonly (typeof SCOPES)[number][] = SCOPES) =>
  issueKey({ name, scopes, expires: null, ...(prefixes && { prefixes }) }, Date.now());
const operator = issued('operator');
const keys = { 'alpha-': issued('alpha', ['alpha-']), 'bravo-': issued('bravo', ['bravo-']) };
const environmentOf = ({ record }: ReturnType<typeof issued>) =>
  `${record.name}:${record.id}:${record.sha256}:${record.scopes.join('+')}${record.prefixes ? `:${record.prefixes.join('+')}` : ''}`;
const DIVISOR_API_KEYS = [operator, keys['alpha-'], keys['bravo-']].map(environmentOf).join(',');

let service: RunningService;
const renders: Record<string, string> = {};
const optimisations: Record<string, string> = {};

const as = (key: string | undefined): Record<string, string> => (key === undefined ? {} : { 'x-api-key': key });
const own = (tenant: Tenant) => as(keys[tenant].key);

const indexOf = (id: string, extra: object = {}) => ({
  id,
  name: `${id} secret`,
  calendar: 'XNYS',
  base_date: '2023-01-03',
  pipeline: { weighting: { type: 'EqualWeight' } },
  ...extra,
});

async function must<T>(tenant: Tenant, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await service.ask<T>(method, path, body, own(tenant));
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function settle(tenant: Tenant): Promise<void> {
  const index = `${tenant}eq`;
  await must(tenant, 'PUT', `/indices/${index}`, indexOf(index));
  await must(tenant, 'PUT', `/strategies/${tenant}desk`, { id: `${tenant}desk`, name: 'Desk', index_id: index });
  const constraints = [{ id: 'pos', type: 'PositionBounds', params: { lower: 0, upper: 0.5 } }];
  await must(tenant, 'PUT', `/optimise/constraint-sets/${tenant}set`, { id: `${tenant}set`, name: 'Set', constraints });
  const blocks = [{ kind: 'header', index_id: index }];
  await must(tenant, 'PUT', `/reports/templates/${tenant}page`, { template_id: `${tenant}page`, name: 'Page', blocks });
  await must(tenant, 'PUT', `/data/watchlists/${tenant}list`, { name: 'List', identifiers: [] });
  const done = async (path: string, body: unknown) => {
    const { job_id: id } = await must<{ job_id: string }>(tenant, 'POST', path, body);
    const job = await service.finished(id, own(tenant));
    expect([id, job.status, job.error]).toEqual([id, 'succeeded', null]);
    return id.slice(id.indexOf(':') + 1);
  };
  await done(`/analytics/${index}/backtest`, {});
  await done(`/risk-models/${tenant}model/estimate`, { index_id: index });
  renders[tenant] = await done('/reports/render', { template_id: `${tenant}page` });
  optimisations[tenant] = await done('/optimise/runs', { index_id: index, constraint_set_id: `${tenant}set` });
  const content = 'identifier,date,CLOSE\nA,2024-01-02,10\n';
  await must(tenant, 'POST', '/data/import', { store_id: `${tenant}store`, name: 'Own', format: 'csv', content });
}

beforeAll(async () => {
  service = await runService(['--tenancy', 'prefix'], { DIVISOR_API_KEYS });
  const market = { store_id: 'market', seed: 3, assets: 6, start: '2022-01-03', end: '2024-06-28' };
  await service.ask('POST', '/data/synthetic', market, as(operator.key));
  await service.finished('generate:market', as(operator.key));
  for (const tenant of TENANTS) await settle(tenant);
});
afterAll(() => service.close());

const operations = Object.entries(API as Record<string, Route>);

const VALUES: Readonly<Record<string, (tenant: Tenant) => string>> = {
  index_id: (tenant) => `${tenant}eq`,
  strategy_id: (tenant) => `${tenant}desk`,
  constraint_set_id: (tenant) => `${tenant}set`,
  template_id: (tenant) => `${tenant}page`,
  watchlist_id: (tenant) => `${tenant}list`,
  store_id: (tenant) => `${tenant}store`,
  model_id: (tenant) => `${tenant}model`,
  document_id: (tenant) => `${tenant}eq`,
  run_id: (tenant) => optimisations[tenant]!,
  render_id: (tenant) => renders[tenant]!,
  job_id: (tenant) => `backtest:${tenant}eq`,
  kind: () => 'index',
  identifier: () => 'A',
  date: () => '2024-01-02',
  table: () => 'levels',
  version: () => '1',
  page: () => 'data',
  picture: () => 'index.webp',
};
const NAMING = ['index_id', 'strategy_id', 'constraint_set_id', 'template_id', 'watchlist_id', 'store_id', 'model_id'];
const NAMED = [...NAMING, 'document_id', 'run_id', 'render_id', 'job_id'];

const paramsOf = ({ path }: Route): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
const isOfTenant = (route: Route): boolean => paramsOf(route).some((name) => NAMED.includes(name));
const pathFor = ({ path }: Route, tenant: Tenant): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = VALUES[name];
    if (value === undefined) throw new Error(`the matrix has no value of ${name}`);
    return value(tenant);
  });
const isEndless = (id: string): boolean => id.startsWith('follow');
/** Writes would take away what later rows of the matrix ask for. */
const changes = ({ method, scope }: Route): boolean => method !== 'GET' && scope !== 'read';

async function asked(route: Route, path: string, headers: Record<string, string>) {
  const hasBody = route.body !== undefined;
  const response = await fetch(service.url() + path, {
    method: route.method,
    headers: { ...headers, ...(hasBody && { 'content-type': 'application/json' }) },
    ...(hasBody && { body: '{}' }),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, text: await response.text() };
}

describe('operations x clients x tenants', () => {
  test('the matrix names a value for every parameter, so no operation is left out', () => {
    for (const [, route] of operations) expect(() => pathFor(route, 'alpha-')).not.toThrow();
  });

  test('another tenant finds no document, and changes none', async () => {
    const deviations: string[] = [];
    let asks = 0;
    for (const tenant of TENANTS)
      for (const [id, route] of operations.filter(([, each]) => isOfTenant(each) && each.scope !== 'open')) {
        const { status } = await asked(route, pathFor(route, otherOf(tenant)), own(tenant));
        asks++;
        if (status !== 404) deviations.push(`${tenant} ${id}: ${status}`);
      }
    console.log(`${asks} asks for documents of another tenant, deviations ${deviations.length}`);
    expect(deviations).toEqual([]);
  });

  test('nothing that a tenant is answered tells of another', async () => {
    const deviations: string[] = [];
    let asks = 0;
    for (const tenant of TENANTS)
      for (const [id, route] of operations.filter(([each, { scope }]) => scope !== 'open' && !isEndless(each))) {
        if (changes(route)) continue;
        const { status, text } = await asked(route, pathFor(route, tenant), own(tenant));
        asks++;
        if (text.includes(otherOf(tenant))) deviations.push(`${tenant} ${id}: ${status} ${text.slice(0, 200)}`);
        const isKnown = knowsPrefixes(id, route);
        if (isKnown && isOfTenant(route) && status === 403) deviations.push(`${tenant} ${id}: own refused`);
        if (!isKnown && status !== 403) deviations.push(`${tenant} ${id}: ${status} without knowing prefixes`);
      }
    console.log(`${asks} asks for a tenant's own, deviations ${deviations.length}`);
    expect(deviations).toEqual([]);
  });

  test('without a key, with a wrong one or without the scope nothing is answered', async () => {
    const wrong = issued('wrong').key;
    const deviations: string[] = [];
    for (const [id, route] of operations.filter(([, { scope }]) => scope !== 'open'))
      for (const [who, headers, expected] of [
        ['nobody', {}, 401],
        ['a wrong key', as(wrong), 401],
      ] as const) {
        const { status } = await asked(route, pathFor(route, 'alpha-'), headers);
        if (status !== expected) deviations.push(`${who} ${id}: ${status}`);
      }
    expect(deviations).toEqual([]);
  });
});

describe('a tenant sees in lists, streams and the log what is its own', () => {
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
    const text = await (await service.download(path, { headers: own('alpha-') })).text();
    expect(text).toContain(known);
    expect(text).not.toContain('bravo-');
  });

  test('and the operator everything', async () => {
    for (const path of ['/indices', '/jobs', '/audit', '/analytics/summaries'])
      for (const tenant of TENANTS)
        expect(await (await service.download(path, { headers: as(operator.key) })).text()).toContain(tenant);
  });
});

describe('documents of another tenant are not reached by a reference', () => {
  const foreign = 'bravo-eq';
  test.each([
    ['POST', '/indices/preview', { document: indexOf('alpha-x', { universe: { kind: 'index', index_id: foreign } }) }],
    ['PUT', '/strategies/alpha-x', { id: 'alpha-x', name: 'X', index_id: foreign }],
    ['GET', `/analytics/compare?ids=alpha-eq,${foreign}`, undefined],
    ['GET', `/analytics/alpha-eq/weights?benchmark=${foreign}`, undefined],
    ['POST', '/optimise/runs', { index_id: 'alpha-eq', constraint_set_id: 'bravo-set' }],
    ['POST', '/optimise/runs', { index_id: foreign, constraint_set_id: 'alpha-set' }],
    ['POST', '/reports/render', { template_id: 'bravo-page' }],
    ['POST', '/reports/render', { template_id: 'FACTSHEET-A4', index_id: foreign }],
    ['POST', '/analytics/sweeps', { index_id: foreign, grid: { '/document/pipeline/weighting/cap': [0.5] } }],
    ['POST', '/analytics/sweeps', { sweep_id: 'caps', index_id: 'alpha-eq', grid: { '/request/capital': [1, 2] } }],
    ['GET', '/data/prices/A?store_id=bravo-store', undefined],
  ])('%s %s %j', async (method, path, body) => {
    const { status, body: answer } = await service.ask(method, path, body, own('alpha-'));
    expect([status >= 400 && status < 500, JSON.stringify(answer).includes('secret')]).toEqual([true, false]);
  });

  test.each([
    ['POST', '/indices', indexOf('bravo-new')],
    ['POST', '/indices', indexOf('unprefixed')],
    ['POST', '/strategies', { id: 'bravo-new', name: 'New', index_id: 'alpha-eq' }],
    [
      'POST',
      '/data/import',
      { store_id: 'bravo-new', name: 'n', format: 'csv', content: 'identifier,date,CLOSE\nA,2024-01-02,1\n' },
    ],
    ['POST', '/data/synthetic', { store_id: 'bravo-new', seed: 1, assets: 3, start: '2023-01-03', end: '2023-06-30' }],
  ])('nor made: %s %s %j', async (method, path, body) => {
    const { status } = await service.ask(method, path, body, own('alpha-'));
    expect([403, 404]).toContain(status);
  });

  test('a batch of backtests reports the other index as unknown', async () => {
    const { body } = await service.ask<{ backtests: { status: string }[] }>(
      'POST',
      '/analytics/backtests',
      { ids: ['alpha-eq', foreign] },
      own('alpha-'),
    );
    expect(JSON.stringify(body)).toContain('INDEX_NOT_FOUND');
  });
});

describe('sharing', () => {
  test('lets another read an index and its runs, and nothing else', async () => {
    const status = async (method: string, path: string, body?: unknown) =>
      (await service.ask(method, path, body, own('bravo-'))).status;
    const share = (names: readonly string[]) =>
      service.ask('PUT', '/access/index/alpha-eq', { shared_with: names }, own('alpha-'));
    expect(await status('GET', '/indices/alpha-eq')).toBe(404);
    expect(await share(['bravo'])).toMatchObject({
      status: 200,
      body: { owner: { key_id: keys['alpha-'].record.id, name: 'alpha' }, shared_with: ['bravo'] },
    });
    for (const path of [
      '/indices/alpha-eq',
      '/analytics/alpha-eq/levels',
      '/access/index/alpha-eq',
      '/jobs/backtest:alpha-eq',
    ])
      expect([path, await status('GET', path)]).toEqual([path, 200]);
    expect(await status('PUT', '/indices/alpha-eq', indexOf('alpha-eq'))).toBe(404);
    expect(await status('DELETE', '/jobs/backtest:alpha-eq')).toBe(404);
    expect(await status('PUT', '/access/index/alpha-eq', { shared_with: [] })).toBe(404);
    expect(await status('GET', '/strategies/alpha-desk')).toBe(404);
    await share([]);
    expect(await status('GET', '/indices/alpha-eq')).toBe(404);
  });

  test('versions and the log tell the key that wrote', async () => {
    const { body } = await service.ask('GET', '/indices/alpha-eq/versions', undefined, own('alpha-'));
    expect(body).toMatchObject({ versions: [{ author: 'alpha', key_id: keys['alpha-'].record.id }] });
    const log = await service.ask<{ entries: { id: string; key_id?: string }[] }>(
      'GET',
      '/audit?kind=run&id=alpha-eq',
      undefined,
      as(operator.key),
    );
    expect(log.body.entries[0]).toMatchObject({ key_id: keys['alpha-'].record.id });
  });
});

test('without tenancy an id outside the prefixes is refused with 403', async () => {
  const plain = await runService([], { DIVISOR_API_KEYS });
  try {
    await plain.ask('PUT', '/indices/bravo-eq', indexOf('bravo-eq'), own('bravo-'));
    for (const [method, path] of [
      ['GET', '/indices/bravo-eq'],
      ['PUT', '/indices/bravo-eq'],
      ['GET', '/indices/none'],
    ] as const) {
      const body = method === 'PUT' ? indexOf('bravo-eq') : undefined;
      const answer = await plain.ask(method, path, body, own('alpha-'));
      expect([path, answer.status, answer.body]).toMatchObject([
        path,
        403,
        { error: { code: 'FORBIDDEN_ID', detail: { prefixes: ['alpha-'] } } },
      ]);
    }
  } finally {
    await plain.close();
  }
});
