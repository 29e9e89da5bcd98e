import type { z } from 'zod';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { VersionDifference, VersionList } from '#contract/versions.js';
import type { Scope } from '#contract/route.js';
import type { AuditLog as AuditLogSchema } from '#contract/governance.js';
import type { DataVersionsPayload } from '#contract/stores.js';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { issueKey } from '#services/keys/keys.js';
import { runService, type RunningService } from '../running-service.js';

type AuditLog = z.infer<typeof AuditLogSchema>;

/** Service with versions of a document of each family, as clients see them. Its keys have names. */
let service: RunningService;
const keys: Record<string, Record<string, string>> = {};

function createKey(name: string, scopes: readonly Scope[]): string {
  const { key, record } = issueKey({ name, scopes, expires: null }, Date.now());
  keys[name] = { 'x-api-key': key };
  return `${name}:${record.id}:${record.sha256}:${scopes.join('+')}`;
}

beforeAll(async () => {
  const apiKeys = [createKey('anna', ['read', 'write', 'data', 'run']), createKey('root', ['admin'])];
  service = await runService([], { DIVISOR_API_KEYS: apiKeys.join(',') });
});
afterAll(() => service.close());

const ask = <T = Record<string, unknown>>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
) => service.ask<T>(method, path, body, { ...keys['anna'], ...headers });

const createIndexBody = (id: string, members: object = {}) => ({
  id,
  name: id,
  calendar: 'XNYS',
  base_date: '2016-01-04',
  rebalance: { frequency: 'monthly' },
  pipeline: { weighting: { type: 'EqualWeight' } },
  ...members,
});

/** Paths of a document of each family, and two states of the document. */
const FAMILIES = [
  ['an index', '/indices/AA', createIndexBody('AA'), createIndexBody('AA', { name: 'Other' })],
  [
    'a strategy',
    '/strategies/SS',
    { id: 'SS', name: 'S', index_id: 'BASE' },
    { id: 'SS', name: 'S', index_id: 'BASE', exposure: 0.5 },
  ],
  [
    'a constraint set',
    '/optimise/constraint-sets/CC',
    { id: 'CC', name: 'C', constraints: [] },
    { id: 'CC', name: 'C', constraints: [{ id: 'p', type: 'PositionBounds', params: { lower: 0, upper: 0.1 } }] },
  ],
  [
    'a report template',
    '/reports/templates/TT',
    { template_id: 'TT', name: 'T', blocks: [{ kind: 'text', text: 'One.' }] },
    { template_id: 'TT', name: 'T', blocks: [{ kind: 'text', text: 'Two.' }] },
  ],
  [
    'a watchlist',
    '/data/watchlists/WW',
    { name: 'W', identifiers: ['B', 'C'] },
    { name: 'W', identifiers: ['A', 'B', 'C'] },
  ],
] as const;

beforeAll(() => ask('PUT', '/indices/BASE', createIndexBody('BASE')));

describe.each(FAMILIES)('%s', (_, path, first, second) => {
  test('is listed write by write, read as it was, and restored after its deletion', async () => {
    const { etag: firstTag } = await ask('PUT', path, first, { 'x-change-note': 'begun', 'x-request-id': 'req-1' });
    const asFirst = (await ask('GET', path)).body;
    await ask('PUT', path, second);
    expect((await ask('DELETE', path)).status).toBeLessThan(300);
    expect((await ask('GET', path)).status).toBe(404);

    const list = (await ask<VersionList>('GET', `${path}/versions`)).body;
    expect(list.versions.map(({ version, action, author }) => [version, action, author])).toEqual([
      [3, 'deleted', 'anna'],
      [2, 'updated', 'anna'],
      [1, 'created', 'anna'],
    ]);
    expect(list.versions[2]).toMatchObject({ note: 'begun', request_id: 'req-1' });
    expect(`"${list.versions[2]!.etag}"`).toBe(firstTag!.replace(/\..*"$/, '"'));
    const pagedAnswer = (await ask<VersionList>('GET', `${path}/versions?limit=1&before=3`)).body;
    expect([pagedAnswer.total, pagedAnswer.versions.map(({ version }) => version)]).toEqual([3, [2]]);

    const read = await service.download(`${path}/versions/1`, { headers: keys['anna']! });
    expect([read.headers.get('x-version'), read.headers.get('etag')]).toEqual(['1', `"${list.versions[2]!.etag}"`]);
    const { updated_at: _at, unknown: _names, watchlist_id: _id, problems: _p, ...rest } = asFirst;
    expect(rest['strategy'] ?? rest).toMatchObject((await read.json()) as object);

    expect((await ask('POST', `${path}/versions/1/restore`)).status).toBe(200);
    const { updated_at: _again, ...restoredBody } = (await ask('GET', path)).body;
    expect(restoredBody).toMatchObject(rest);
    expect((await ask('POST', `${path}/versions/1/restore`)).status).toBe(200);
    const after = (await ask<VersionList>('GET', `${path}/versions`)).body.versions;
    expect([after.length, after[0]!.action, after[0]!.etag]).toEqual([4, 'restored', list.versions[2]!.etag]);
    expect(after.map(({ restored_from: from }) => from)).toEqual([1, null, null, null]);
  });

  test('has no version after its last, and the version of a deletion is neither read nor restored', async () => {
    const readRefusal = async (method: string, at: string) => {
      const { status, body } = await ask<{ readonly error: { readonly code: string } }>(method, `${path}${at}`);
      return [status, body.error.code];
    };
    expect(await readRefusal('GET', '/versions/9')).toEqual([404, 'VERSION_NOT_FOUND']);
    expect(await readRefusal('GET', '/versions/3')).toEqual([404, 'VERSION_NOT_FOUND']);
    expect(await readRefusal('POST', '/versions/3/restore')).toEqual([422, 'VERSION_NOT_RESTORABLE']);
    expect(await readRefusal('GET', '/versions/diff?from=1&to=9')).toEqual([404, 'VERSION_NOT_FOUND']);
    expect((await ask('POST', `${path}/versions/2/restore`, undefined, { 'if-match': '"other"' })).status).toBe(412);
    const neverAnswer = await ask<{ readonly error: { readonly code: string } }>('GET', `${path}x/versions`);
    expect([neverAnswer.status, neverAnswer.body.error.code]).toEqual([404, expect.stringMatching(/_NOT_FOUND$/)]);
  });

  test('is purged only by an administrator, whether it is stored or deleted', async () => {
    expect((await ask('DELETE', `${path}?purge=true`)).status).toBe(403);
    expect((await ask('GET', path)).status).toBe(200);
    expect((await service.ask('DELETE', `${path}?purge=true`, undefined, keys['root']!)).status).toBeLessThan(300);
    expect((await ask('GET', `${path}/versions`)).status).toBe(404);
    await ask('PUT', path, first);
    const { versions, total } = (await ask<VersionList>('GET', `${path}/versions`)).body;
    expect([versions.length, total, versions[0]!.version > 1, versions[0]!.action]).toEqual([1, 1, true, 'created']);
    const [{ version }] = versions as [VersionList['versions'][number]];
    const { error } = (await ask<{ readonly error: ErrorDetail }>('GET', `${path}/versions/1`)).body;
    expect(error).toMatchObject({ code: 'VERSION_NOT_FOUND', detail: { version: 1, first: version, last: version } });
    await ask('DELETE', path);
    expect((await service.ask('DELETE', `${path}?purge=true`, undefined, keys['root']!)).status).toBeLessThan(300);
    expect((await ask('GET', `${path}/versions`)).status).toBe(404);
    expect((await service.ask('DELETE', `${path}?purge=true`, undefined, keys['root']!)).status).toBe(404);
  });
});

test('two versions of an index differ by paths, and by sentences of the methodology', async () => {
  await ask('PUT', '/indices/DIFF', createIndexBody('DIFF'));
  await ask('PUT', '/indices/DIFF', createIndexBody('DIFF', { rebalance: { frequency: 'weekly' } }));
  const { body } = await ask<VersionDifference>('GET', '/indices/DIFF/versions/diff?from=1&to=2');
  expect(body.changes).toContainEqual({
    path: '/rebalance/frequency',
    op: 'replace',
    before: 'monthly',
    after: 'weekly',
  });
  const readSentences = async (version: 1 | 2) => {
    await ask('POST', `/indices/DIFF/versions/${version}/restore`);
    const { sentences: all } = (
      await ask<{ readonly sentences: readonly { readonly text: string }[] }>('GET', '/indices/DIFF/methodology')
    ).body;
    return all.map(({ text }) => text);
  };
  const [monthly, weekly] = [await readSentences(1), await readSentences(2)];
  expect(body.sentences.removed).toEqual(monthly.filter((text) => !weekly.includes(text)));
  expect(body.sentences.added).toEqual(weekly.filter((text) => !monthly.includes(text)));
  expect(body.sentences.added.length).toBeGreaterThan(0);
});

test('a note may have letters beyond ASCII, and has at most 500 characters', async () => {
  const encodeLatin1 = (note: string) => Buffer.from(note, 'utf8').toString('latin1');
  await ask('PUT', '/data/watchlists/noted', { name: 'N' }, { 'x-change-note': encodeLatin1('Obergrenze für Öl') });
  const { versions } = (await ask<VersionList>('GET', '/data/watchlists/noted/versions')).body;
  expect(versions[0]!.note).toBe('Obergrenze für Öl');
  const long = await ask('PUT', '/data/watchlists/noted', { name: 'M' }, { 'x-change-note': 'x'.repeat(501) });
  expect(long.status).toBe(422);
});

test('an optimised child that is deleted with its parent keeps its versions and is restored after it', async () => {
  await ask('PUT', '/indices/UP', createIndexBody('UP'));
  await ask('PUT', '/indices/DOWN', createIndexBody('DOWN', { pipeline: null, derivation: { source_index_id: 'UP' } }));
  await ask('DELETE', '/indices/UP');
  expect((await ask('POST', '/indices/DOWN/versions/1/restore')).status).toBe(422);
  expect((await ask('POST', '/indices/UP/versions/1/restore')).status).toBe(200);
  expect((await ask('POST', '/indices/DOWN/versions/1/restore')).status).toBe(200);
  const { versions } = (await ask<VersionList>('GET', '/indices/DOWN/versions')).body;
  expect(versions.map(({ action }) => action)).toEqual(['restored', 'deleted', 'created']);
});

describe('the declaration of a data store', () => {
  const path = '/data/stores/two/document/versions';
  const tables = {
    market: {
      index: [0, 1],
      columns: ['identifier', 'date', 'CLOSE'],
      data: [
        ['A', '2024-01-02', 1],
        ['A', '2024-01-03', 2],
      ],
    },
  };

  test('has a version for each change of it, none for new data', async () => {
    const importBody = { store_id: 'two', name: 'Two', tables, activate: false };
    expect((await ask('POST', '/data/import', importBody)).status).toBe(201);
    await ask('PATCH', '/data/stores/two', { name: 'Both' });
    const replacedBody = { market: { ...tables.market, data: [['A', '2024-01-04', 3]], index: [0] } };
    await ask('POST', '/data/import', { ...importBody, name: 'Both', tables: replacedBody, on_exists: 'append' });
    const { versions } = (await ask<VersionList>('GET', path)).body;
    expect(versions.map(({ action, author }) => [action, author])).toEqual([
      ['updated', 'anna'],
      ['created', 'anna'],
    ]);
    const { changes } = (await ask<VersionDifference>('GET', `${path}/diff?from=1&to=2`)).body;
    expect(changes).toEqual([{ path: '/name', op: 'replace', before: 'Two', after: 'Both' }]);
  });

  test('data has its author, time and reason, in its versions and in the log of writes', async () => {
    const createNoteHeaders = (note: string) => ({ 'x-change-note': note, 'x-request-id': `r-${note.length}` });
    await ask('POST', '/data/stores/two/activate', undefined, createNoteHeaders('Go live'));
    await service.waitForJob('load:two', keys['anna']);
    const laterRows = { market: { ...tables.market, data: [['A', '2024-01-05', 4]], index: [0] } };
    const appendBody = { store_id: 'two', name: 'Both', tables: laterRows, on_exists: 'append' };
    await ask('POST', '/data/import', appendBody, createNoteHeaders('Friday'));
    const { versions } = (await ask<DataVersionsPayload>('GET', '/data/stores/two/versions')).body;
    expect(versions.map(({ source, author, note, request_id: id }) => [source, author, note, id])).toEqual([
      ['append', 'anna', 'Friday', 'r-6'],
      ['import', 'anna', 'Go live', 'r-7'],
    ]);
    const loggedAnswer = await ask<AuditLog>('GET', '/audit?id=two', undefined, keys['root']);
    expect(loggedAnswer.body.entries.map((entry) => [entry.action, entry.kind, entry.version, entry.note])).toEqual([
      ['created', 'store', 1, null],
      ['updated', 'store', 2, null],
      ['loaded', 'store', null, null],
      ['activated', 'store', null, 'Go live'],
      ['created', 'data-version', 1, 'Go live'],
      ['loaded', 'store', null, 'Friday'],
      ['created', 'data-version', 2, 'Friday'],
    ]);
    expect(new Set(loggedAnswer.body.entries.map(({ author }) => author))).toEqual(new Set(['anna']));
    const other = { ...appendBody, store_id: 'three', name: 'Three', on_exists: 'refuse', activate: true };
    expect((await ask('POST', '/data/import', other)).status).toBe(201); // the served store cannot be deleted
  });

  test('is restored, but not after its data was deleted with it', async () => {
    expect((await ask('POST', `${path}/1/restore`)).body).toMatchObject({ store_id: 'two', name: 'Two' });
    await ask('DELETE', '/data/stores/two');
    expect((await ask<{ readonly error: unknown }>('POST', `${path}/1/restore`)).body.error).toMatchObject({
      code: 'VERSION_NOT_RESTORABLE',
    });
  });
});

test('versions are kept over a restart', async () => {
  const before = (await ask<VersionList>('GET', '/indices/DIFF/versions')).body;
  await service.restart();
  expect((await ask<VersionList>('GET', '/indices/DIFF/versions')).body).toEqual(before);
});
