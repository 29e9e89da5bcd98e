import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SqlResult } from '#contract/sql.js';
import { LIST_VIEWS, MARKET_VIEWS, RUN_SQL_VIEWS } from '#domain/outputs/exports.js';
import { startProvider, type Provider } from '../http/oidc-provider.js';
import { runService, type RunningService } from '../services/running-service.js';
import {
  chooseSome,
  DIVISOR_API_KEYS,
  GRANTS,
  createIndex,
  keys,
  operator,
  getOther,
  TENANTS,
  type Tenant,
} from './two-tenants.js';

/** Service with two tenants. Each has an index, an index derived from it, and a strategy. Both query every view. */
let service: RunningService;
let provider: Provider;
const token: Record<string, Readonly<Record<string, string>>> = {};

type Headers = Readonly<Record<string, string>>;
const createTenantHeader = (tenant: Tenant): Headers => ({ 'x-api-key': keys[tenant].key });
const operatorHeaders: Headers = { 'x-api-key': operator.key };

async function requireSuccess(
  method: string,
  path: string,
  body: unknown,
  headers: Headers,
): Promise<Record<string, unknown>> {
  const answer = await service.ask(method, path, body, headers);
  if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
async function runJob(path: string, body: unknown, headers: Headers): Promise<void> {
  const { job_id: id } = await requireSuccess('POST', path, body, headers);
  expect(await service.waitForJob(String(id), headers)).toMatchObject({ status: 'succeeded' });
}
const ask = async (query: string, headers: Headers) =>
  (await requireSuccess('POST', '/sql', { query }, headers)) as unknown as SqlResult;

/** All rows of each view, which the operator can read. */
const rowsByView = new Map<string, Promise<SqlResult>>();
function readEverything(view: string): Promise<SqlResult> {
  const rows = rowsByView.get(view) ?? ask(`SELECT * FROM ${view} ORDER BY ALL`, operatorHeaders);
  rowsByView.set(view, rows);
  return rows;
}

const listNames = (tenant: Tenant): readonly string[] => [`${tenant}desk`, `${tenant}eq`, `${tenant}half`];

beforeAll(async () => {
  provider = await startProvider('console');
  const oidcFlags = ['--oidc-issuer', provider.issuer, '--oidc-audience', 'divisor'];
  const grants = GRANTS.flatMap((grant) => ['--oidc-scopes', grant]);
  service = await runService(['--tenancy', 'prefix', ...oidcFlags, ...grants], { DIVISOR_API_KEYS });
  const market = {
    store_id: 'market',
    seed: 3,
    assets: 6,
    start: '2022-01-03',
    end: '2024-06-28',
    splits_per_year: 0.5,
  };
  await runJob('/data/synthetic', market, operatorHeaders);
  for (const tenant of TENANTS) {
    const [desk, index, half] = listNames(tenant);
    await requireSuccess('PUT', `/indices/${index}`, createIndex(index!), createTenantHeader(tenant));
    const overlay = { kind: 'overlay', source_index_id: index, overlay: { type: 'decrement', percent: 2 } };
    const { pipeline: _, ...fields } = createIndex(half!);
    await requireSuccess('PUT', `/indices/${half}`, { ...fields, ...overlay }, createTenantHeader(tenant));
    await requireSuccess(
      'PUT',
      `/strategies/${desk}`,
      { id: desk, name: `${desk} secret`, index_id: index },
      createTenantHeader(tenant),
    );
    for (const id of [index, half, desk]) await runJob(`/analytics/${id}/backtest`, {}, createTenantHeader(tenant));
    token[tenant] = { authorization: `Bearer ${await provider.token({ sub: 'someone', team: tenant })}` };
  }
});
afterAll(async () => {
  await service.close();
  await provider.close();
});

const PRIVATE_VIEWS = [...RUN_SQL_VIEWS, ...LIST_VIEWS];

describe.each(TENANTS)('a client limited to %s', (tenant) => {
  const other = getOther(tenant);

  test.each(PRIVATE_VIEWS)('sees its own rows of %s, and no others', async (view) => {
    const query = `SELECT * FROM ${view} ORDER BY ALL`;
    const wholeView = await readEverything(view); // queried first, so that the tables are stored on disk
    const column = wholeView.columns.findIndex(({ name }) => name === 'index_id');
    const wantedRows = wholeView.data.filter((row) => String(row[column]).startsWith(tenant));
    expect([wantedRows.length > 0, wholeView.data.length - wantedRows.length > 0]).toEqual([true, true]);
    const position = PRIVATE_VIEWS.indexOf(view) + TENANTS.indexOf(tenant);
    for (const headers of chooseSome(position, [createTenantHeader(tenant), token[tenant]!])) {
      const answer = await ask(query, headers);
      expect(answer.columns).toEqual(wholeView.columns);
      expect(answer.data).toEqual(wantedRows);
      expect(JSON.stringify(answer)).not.toContain(other);
      const conditions = [`= '${other}eq'`, `LIKE '${other}%'`, `IN ('${other}eq', '${other}desk')`];
      const counts = conditions.map((condition) => `(SELECT count(*) FROM ${view} WHERE index_id ${condition})`);
      const { data } = await ask(`SELECT (SELECT count(*) FROM ${view}), ${counts.join(', ')}`, headers);
      expect(data).toEqual([[wantedRows.length, 0, 0, 0]]);
    }
  });

  test.each(MARKET_VIEWS)('sees %s like every client', async (view) => {
    const query = `SELECT * FROM ${view} ORDER BY ALL LIMIT 50`;
    expect(await ask(query, createTenantHeader(tenant))).toEqual(await ask(query, operatorHeaders));
  });

  test('learns of no other rows by a join, a description, a listing or an error', async () => {
    const result = await ask(
      `SELECT DISTINCT index_id FROM (${PRIVATE_VIEWS.map((view) => `SELECT index_id FROM ${view}`).join(' UNION ALL ')}) ORDER BY 1`,
      createTenantHeader(tenant),
    );
    expect(result.data.map(([id]) => id)).toEqual(listNames(tenant));
    for (const query of [
      'SHOW TABLES',
      'SHOW ALL TABLES',
      'DESCRIBE weights',
      'SUMMARIZE runs',
      'SELECT nothing FROM levels',
    ]) {
      const { body } = await service.ask('POST', '/sql', { query }, createTenantHeader(tenant));
      expect(JSON.stringify(body)).not.toContain(other.slice(0, -1));
    }
  });
});

test('sharing shows the rows of a document in every view, until sharing ends', async () => {
  const readShare = (names: readonly string[]) =>
    requireSuccess('PUT', '/access/index/alpha-eq', { shared_with: names }, createTenantHeader('alpha-'));
  const query = PRIVATE_VIEWS.map((view) => `SELECT '${view}' AS view, index_id FROM ${view}`).join(' UNION ');
  const readRows = async () =>
    (await ask(`${query} ORDER BY 1, 2`, createTenantHeader('bravo-'))).data as [string, string][];
  const before = await readRows();
  const listIds = (rows: typeof before, view: string) => rows.filter(([of]) => of === view).map(([, id]) => id);
  await readShare(['bravo']);
  const sharedRows = await readRows();
  for (const view of PRIVATE_VIEWS)
    expect([view, listIds(sharedRows, view)]).toEqual([view, ['alpha-eq', ...listIds(before, view)]]);
  await readShare([]);
  expect(await readRows()).toEqual(before);
});
