import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { OpenApiDocument } from '#contract/openapi.js';
import { type Running, start, stop } from '#cli/commands/serve.js';
import { readSettings } from '#cli/settings/settings.js';
import { compareVersions, parseVersion } from '#base/version.js';
import { createConformity, type Conformity } from '../http/conformity.js';

/** Home of the whole service, which the tests call over HTTP. */
let home: string;
let server: Running;
let findViolations: Conformity;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'service-'));
  const { settings } = readSettings(['--home', home, '--port', '0', '--workers', '1'], {});
  server = await start(settings, pino({ level: 'silent' }));
  findViolations = createConformity((await (await ask('/openapi.json')).json()) as OpenApiDocument);
});

afterAll(async () => {
  await stop({ ...server, drainMs: 0 });
  await rm(home, { recursive: true });
});

const ask = (path: string, init: RequestInit = {}) => fetch(`${server.server.url}${path}`, init);

async function listViolations(operationId: string, response: Response): Promise<string[]> {
  const type = response.headers.get('content-type');
  const text = await response.text();
  return findViolations(operationId, {
    status: response.status,
    type,
    body: type?.startsWith('application/json') === true ? JSON.parse(text) : text,
  });
}

test.each([
  ['getHealth', '/health', 200],
  ['getHealth', '/health?anything=1', 200],
  ['getLiveness', '/health/live', 200],
  ['getReadiness', '/health/ready', 200],
  ['getChangelog', '/changelog', 200],
  ['getChangelog', '/changelog?since=0.0.1', 200],
  ['getChangelog', '/changelog?since=new', 422],
  ['getOpenApi', '/openapi.json', 200],
  ['getMetrics', '/metrics', 200],
  ['listJobs', '/jobs', 200],
  ['getJob', '/jobs/backtest:none', 404],
  ['getJob', '/jobs/none', 422],
] as const)('%s answers %s as the document says', async (operationId, path, status) => {
  const response = await ask(path);
  expect(response.status).toBe(status);
  expect(await listViolations(operationId, response)).toEqual([]);
});

test('the conformity check finds invalid responses', () => {
  expect(
    findViolations('getLiveness', { status: 200, type: 'application/json', body: { status: 'dead' } }),
  ).toHaveLength(1);
  expect(findViolations('getLiveness', { status: 418, type: null, body: undefined })).toEqual([
    'getLiveness does not declare 418',
  ]);
  expect(
    findViolations('getChangelog', {
      status: 404,
      type: 'application/json',
      body: { error: { code: 'NO_SUCH_CODE', message: '', detail: null } },
    }).length,
  ).toBeGreaterThan(0);
});

test('the document has a strong etag, and a client that has this version receives 304', async () => {
  const first = await ask('/openapi.json');
  const etag = first.headers.get('etag') ?? '';
  expect(etag).toMatch(/^"[0-9a-f]{64}(-br|-gzip)?"$/);
  expect((await ask('/openapi.json', { headers: { 'if-none-match': etag } })).status).toBe(304);
});

test('the version is equal wherever it is stated', async () => {
  const readVersion = async (path: string, read: (body: never) => unknown) =>
    read((await (await ask(path)).json()) as never);
  const { version: declared } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
  const versions = [
    await readVersion('/health', (body: { version: string }) => body.version),
    await readVersion('/changelog', (body: { version: string }) => body.version),
    await readVersion('/openapi.json', (body: { info: { version: string } }) => body.info.version),
    (await ask('/health/live')).headers.get('x-engine-version'),
    /divisor_build_info\{version="([^"]+)",commit="[0-9a-f]*"\} 1/.exec(await (await ask('/metrics')).text())?.[1],
  ];
  expect(versions).toEqual(versions.map(() => declared));
});

test('since selects later releases and always the unreleased changes', async () => {
  interface Changelog {
    readonly version: string;
    readonly entries: readonly { readonly version: string; readonly date: string | null }[];
  }
  const readChangelog = async (query: string) => (await (await ask(`/changelog${query}`)).json()) as Changelog;
  const all = await readChangelog('');
  expect(all.entries.find(({ version }) => version === 'Unreleased')?.date).toBeNull();
  const releases = all.entries.filter(({ version }) => version !== 'Unreleased');
  for (const { version } of releases)
    expect(compareVersions(parseVersion(version)!, parseVersion(all.version)!)).toBeLessThanOrEqual(0);
  expect((await readChangelog('?since=0.0.0')).entries).toEqual(all.entries);
  for (const laterVersion of [all.version, '99.0.0'])
    expect((await readChangelog(`?since=${laterVersion}`)).entries).toEqual(
      all.entries.filter(({ version }) => version === 'Unreleased'),
    );
});

test('metrics count requests', async () => {
  await ask('/health/live');
  const text = await (await ask('/metrics')).text();
  expect(text).toMatch(/divisor_http_request_seconds_count\{operation="getLiveness",status="200"\} [1-9]/);
  expect(text).toMatch(/divisor_jobs\{state="running"\} \d/);
});

test('a foreign web page cannot drive a keyless service', async () => {
  const response = await ask('/jobs', { headers: { origin: 'https://example.com' } });
  expect(response.status).toBe(403);
  expect(await listViolations('listJobs', response)).toEqual([]);
});
