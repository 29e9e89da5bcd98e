import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Publication } from '#contract/publication.js';
import { LOG_MEDIA, type Scope } from '#contract/route.js';
import type { AuditLog } from '#contract/governance.js';
import type { AuditEntry } from '#domain/definition/versions.js';
import type { LevelChange, PublicationEntry, PublicKey } from '#domain/definition/publication.js';
import { verifyPublished } from '#cli/commands/logs.js';
import { verifyAudit } from '#store/history/audit.js';
import { verifyLog } from '#store/history/publication-log.js';
import { issueKey } from '#services/keys/keys.js';
import { runHere } from '../../cli/process.js';
import { runService, type RunningService } from '../running-service.js';
import { runInPython } from './in-python.js';
import { createFrame } from '../../table-frame.js';

/** Service with an index whose closes are published. Each test depends on the previous test. */
let service: RunningService;
const keys: Record<string, Record<string, string>> = {};

function createKey(name: string, scopes: readonly Scope[]): string {
  const { key, record } = issueKey({ name, scopes, expires: null }, Date.now());
  keys[name] = { 'x-api-key': key };
  return `${name}:${record.id}:${record.sha256}:${scopes.join('+')}`;
}

const ask = <T = Record<string, unknown>>(method: string, path: string, body?: unknown, who = 'root') =>
  service.ask<T>(method, path, body, keys[who]!);

async function runToEnd(path: string, body: unknown): Promise<void> {
  const { body: started } = await ask<{ readonly job_id: string }>('POST', path, body);
  expect((await service.waitForJob(started.job_id, keys['root'])).error).toBeNull();
}

/** Size of the changes in a refused publication. */
interface RefusalBody {
  readonly dates: readonly string[];
  readonly levels_changed: number;
  readonly largest: Pick<LevelChange, 'change' | 'change_bps' | 'published' | 'run'> | null;
}

const createDefinition = (weighting: object) => ({
  id: 'PUB',
  name: 'Published',
  calendar: 'XNYS',
  base_date: '2023-01-03',
  rebalance: { frequency: 'quarterly' },
  pipeline: { weighting },
});

beforeAll(async () => {
  const apiKeys = [
    createKey('root', ['admin']),
    createKey('desk', ['read', 'publish']),
    createKey('analyst', ['read', 'write', 'run', 'data']),
  ];
  service = await runService([], { DIVISOR_API_KEYS: apiKeys.join(',') });
  await runToEnd('/data/synthetic', { store_id: 'm', seed: 5, assets: 12, start: '2023-01-03', end: '2023-06-30' });
  await ask('PUT', '/indices/PUB', createDefinition({ type: 'EqualWeight' }));
  await runToEnd('/analytics/PUB/backtest', {});
});
afterAll(() => service.close());

const publish = (request: object, who = 'desk') => ask<Publication>('POST', '/analytics/PUB/publish', request, who);
const listEntries = async (query = '') =>
  (await ask<{ readonly entries: PublicationEntry[] }>('GET', `/analytics/PUB/published${query}`)).body.entries;

/** Returns the columns of an export as rows. */
async function readRows(table: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const { body } = await ask<{ readonly columns: string[]; readonly data: unknown[][] }>(
    'GET',
    `/analytics/PUB/exports/${table}?format=json`,
  );
  const { columns, data } = body;
  return data.map((row) => Object.fromEntries(columns.map((name, i) => [name, row[i]])));
}

test('only a key with the scope publish publishes', async () => {
  expect((await publish({}, 'analyst')).status).toBe(403);
  expect((await ask('GET', '/analytics/PUB/published')).status).toBe(404);
  expect((await ask('GET', '/analytics/PUB/runs')).body).toMatchObject({ has_published: false });
});

test('closes are published once: existing ones are not repeated, later ones are added', async () => {
  const first = (await publish({ through: '2023-03-31' })).body;
  const { runs } = (await ask<{ readonly runs: readonly { readonly run_id: string }[] }>('GET', '/analytics/PUB/runs'))
    .body;
  expect((await ask('GET', '/analytics/PUB/runs')).body).toMatchObject({ has_published: true });
  expect(first).toMatchObject({ restated: 0, through: '2023-03-31', run_id: runs[0]!.run_id, stale: null });
  expect((await publish({ through: '2023-03-31' })).body).toEqual({ ...first, published: 0 });
  const publication = (await publish({ through: '2023-07-02' })).body; // the Sunday after the last session
  const levels = await readRows('levels');
  expect(first.published + publication.published).toBe(levels.length);
  const entries = await listEntries();
  expect(entries.map(({ date, price, total, net, divisor }) => ({ date, price, total, net, divisor }))).toEqual(
    levels.map(({ date, price, total, net, divisor }) => ({ date, price, total, net, divisor })),
  );
  expect(new Set(entries.map(({ author, index_version: version }) => `${author} ${version}`))).toEqual(
    new Set(['desk 1']),
  );
});

test('a composition hash is that of the index weights of the close, and can be recomputed from the export', async () => {
  const byDate = new Map<string, Record<string, number>>();
  for (const { date, identifier, index_weight: weight } of await readRows('weights'))
    byDate.set(String(date), { ...byDate.get(String(date)), [String(identifier)]: Number(weight) });
  for (const { date, composition_hash: hash } of await listEntries()) {
    const weights = byDate.get(date) ?? {};
    const text = `{${Object.keys(weights)
      .toSorted()
      .map((name) => `${JSON.stringify(name)}:${JSON.stringify(weights[name])}`)
      .join(',')}}`;
    expect(createHash('sha256').update(text).digest('hex'), date).toBe(hash);
  }
});

test('a run that disagrees is refused with its dates and changes nothing; it is restated only with a reason', async () => {
  const before = await listEntries();
  await ask('PUT', '/indices/PUB', createDefinition({ type: 'PriceWeight' }));
  await runToEnd('/analytics/PUB/backtest', {});
  const refusal = await ask<{
    readonly error: { readonly code: string; readonly detail: RefusalBody };
  }>('POST', '/analytics/PUB/publish', {}, 'desk');
  expect([refusal.status, refusal.body.error.code]).toEqual([409, 'RESTATEMENT']);
  const { dates, largest, levels_changed: changed } = refusal.body.error.detail;
  expect(dates).toEqual(before.slice(0, 100).map(({ date }) => date));
  // Computed from the exported levels, which every client can read.
  const levels = new Map((await readRows('levels')).map((row) => [String(row['date']), row]));
  const ratios = before.flatMap((entry) =>
    (['price', 'total', 'net'] as const).map((variant) => {
      const run = levels.get(entry.date)?.[variant];
      const publishedLevel = entry[variant];
      return { date: entry.date, ratio: run == null || publishedLevel === null ? 1 : Number(run) / publishedLevel };
    }),
  );
  const computeErrorSize = ({ ratio }: { readonly ratio: number }) => Math.abs(ratio - 1);
  const worst = ratios.toSorted((a, b) => computeErrorSize(b) - computeErrorSize(a))[0]!;
  expect(largest!.change_bps / 1e4).toBeCloseTo(worst.ratio - 1, 12);
  expect(largest!.change).toBe(largest!.run - largest!.published);
  expect(changed).toBe(new Set(ratios.filter(({ ratio }) => ratio !== 1).map(({ date }) => date)).size);
  expect((await publish({ restate: true })).status).toBe(422);
  expect(await listEntries()).toEqual(before);

  const { body } = await publish({ restate: true, reason: 'A wrong weighting' });
  const after = await listEntries();
  expect(after.slice(0, before.length)).toEqual(before);
  const restatedEntries = after.slice(before.length);
  expect(restatedEntries.map(({ kind, reason, index_version: version }) => [kind, reason, version])).toEqual(
    restatedEntries.map(() => ['restatement', 'A wrong weighting', 2]),
  );
  expect(restatedEntries.map(({ date }) => date)).toEqual(before.map(({ date }) => date));
  expect([body.restated, body.published, body.head]).toEqual([restatedEntries.length, 0, restatedEntries.at(-1)!.hash]);
  expect((await publish({ through: '2023-01-31' })).body).toMatchObject({ published: 0, restated: 0 });
});

test('a new key signs afterwards, and the log shows which key signed which entry', async () => {
  const listKeys = async () =>
    (await ask<{ readonly keys: PublicKey[] }>('GET', '/analytics/PUB/published/keys')).body.keys;
  const [old] = await listKeys();
  expect((await ask('POST', '/publication/keys', undefined, 'desk')).status).toBe(403);
  const before = (await listEntries()).length;
  await ask('GET', '/audit'); // signs the audit log with the old key as well
  // The clock steps back to before the last signature of the old key. The signatures of this key must remain valid.
  const clock = vi.spyOn(Date, 'now').mockReturnValue(Date.parse((await listEntries()).at(-1)!.at) - 10_000);
  expect((await ask('POST', '/publication/keys')).status).toBe(200);
  await ask('PUT', '/indices/PUB', createDefinition({ type: 'EqualWeight' }));
  await runToEnd('/analytics/PUB/backtest', {});
  await publish({ restate: true, reason: 'The weighting of before' });
  const { head, seals, entries: writes } = (await ask<z.infer<typeof AuditLog>>('GET', '/audit')).body;
  clock.mockRestore();
  const entries = await listEntries();
  const signingKeys = new Map((await listKeys()).map((key) => [key.key_id, key]));
  expect(verifyLog(entries, { head: null, keys: signingKeys })).toMatchObject({ entries: entries.length });
  expect(verifyAudit(writes, { head: head.hash, seals, keys: signingKeys })).toMatchObject({
    ...head,
    sealed: head.seq,
  });
  const [first, second] = await listKeys();
  expect(first).toEqual({ ...old, valid_until: second!.valid_from });
  expect(second!.valid_until).toBeNull();
  expect(entries.map(({ key_id: id }) => id)).toEqual(
    entries.map((_, i) => (i < before ? first!.key_id : second!.key_id)),
  );
  expect(JSON.stringify(await listKeys())).not.toContain('private');
});

test('the log is verified without the service, by the command and by a Python script, and an edited log fails', async () => {
  const lines = await service.download('/analytics/PUB/published', {
    headers: { ...keys['desk']!, accept: 'application/x-ndjson' },
  });
  expect(lines.headers.get('content-type')).toBe('application/x-ndjson');
  const text = await lines.text();
  const { body } = await ask('GET', '/analytics/PUB/published/keys');
  const toPath = (name: string) => join(service.root, name);
  await writeFile(toPath('keys.json'), JSON.stringify(body));
  await writeFile(toPath('log'), text);
  await writeFile(toPath('log.json'), JSON.stringify({ entries: await listEntries() }));
  expect(await verifyPublished([toPath('log'), '--key', toPath('keys.json')])).toBe(0);
  expect(await verifyPublished([toPath('log.json'), '--key', toPath('keys.json')])).toBe(0);
  expect(await verifyPublished([toPath('log')])).toBe(0);
  await expect(verifyPublished([toPath('log'), '--head', 'zz'])).rejects.toThrow('--head takes the hash of an entry');
  expect(await runInPython([toPath('log'), toPath('keys.json'), 'zz'])).toMatchObject({ status: 64 });

  // Signatures in pure Python are slow. So the test uses a few entries around the change of the key.
  const cutText = text.split('\n').slice(0, 6).join('\n') + '\n';
  await writeFile(toPath('some'), cutText);
  expect(await runInPython([toPath('log')])).toMatchObject({
    status: 0,
    text: expect.stringContaining('signatures not verified') as string,
  });
  expect(await runInPython([toPath('some'), toPath('keys.json')])).toMatchObject({ status: 0 });
  expect(await runInPython([toPath('log.json')])).toMatchObject({ status: 0 });
  const head = (await listEntries()).at(-1)!.hash;
  for (const [hash, status] of [
    [head, 0],
    ['0'.repeat(64), 1],
  ] as const)
    expect(await runInPython([toPath('log'), '--head', hash])).toMatchObject({ status });
  await writeFile(toPath('cut'), text.split('\n').slice(2).join('\n'));
  for (const verdict of [await runInPython([toPath('cut')]), await runHere(['verify-published', toPath('cut')])])
    expect(JSON.stringify(verdict)).toContain('Entry 1: it is missing: the log is incomplete and begins with entry 3.');
  await writeFile(toPath('empty.json'), '{}');
  for (const words of [[toPath('log'), toPath('empty.json')], [toPath('log'), toPath('none')], [toPath('none')], []])
    expect((await runInPython(words)).status, words.join(' ')).toBe(64);

  const edits: readonly [string, string][] = [
    ['"kind":"close"', '"kind":"restatement"'],
    ['"signature":"', '"signature":"A'],
    ['"price":', '"price":1'],
    ['"seq":4', '"seq":4,"seq":4'],
  ];
  for (const [from, to] of edits) {
    const editedLines = cutText.split('\n').map((line, i) => (i === 3 ? line.replace(from, to) : line));
    await writeFile(toPath('edited'), editedLines.join('\n'));
    expect(await verifyPublished([toPath('edited'), '--key', toPath('keys.json')]), to).toBe(1);
    const judgedRun = await runInPython([toPath('edited'), toPath('keys.json')]);
    expect(judgedRun, to).toMatchObject({ status: 1, text: expect.stringMatching(/^Entry 4:/) });
  }
});

test('the log is kept after its index is deleted, and continues when the index is restored', async () => {
  const before = await listEntries();
  await ask('DELETE', '/indices/PUB');
  expect(await listEntries()).toEqual(before);
  expect((await publish({})).status).toBe(404);
  await ask('POST', '/indices/PUB/versions/3/restore');
  await runToEnd('/analytics/PUB/backtest', {});
  await service.restart();
  await service.resumed();
  expect((await publish({})).body).toMatchObject({ published: 0, restated: 0, head: before.at(-1)!.hash });
});

test('the audit log shows the publisher and the author of the definition, to administrators only', async () => {
  expect((await ask('GET', '/audit', undefined, 'desk')).status).toBe(403);
  const { body } = await ask<z.infer<typeof AuditLog>>('GET', '/audit');
  expect(body.entries.map(({ seq }) => seq)).toEqual(Array.from({ length: body.head.seq }, (_, i) => i + 1));
  // Checks the log as a client would: against its hash chain, and against the keys that signed publications.
  const signingKeys = new Map(body.keys.map((key) => [key.key_id, key]));
  const verdict = verifyAudit(body.entries, { head: body.head.hash, seals: body.seals, keys: signingKeys });
  expect(verdict).toMatchObject({ ...body.head, sealed: body.head.seq });
  expect(body.keys.length).toBeGreaterThan(1); // one key was replaced
  const logText = await (await service.download('/audit', { headers: { ...keys['root'], accept: LOG_MEDIA } })).text();
  const seals = logText
    .trimEnd()
    .split('\n')
    .filter((line) => line.startsWith('{"seal"'));
  expect(seals).toHaveLength(body.seals.length);
  const publishedEntries = body.entries.filter(({ kind }) => kind === 'publication');
  expect(new Set(publishedEntries.map(({ author, id }) => `${author} ${id.split('/')[0]!}`))).toEqual(
    new Set(['desk PUB']),
  );
  expect(body.entries.find(({ kind }) => kind === 'index')).toMatchObject({ author: 'root', id: 'PUB', version: 1 });
  const run = body.entries.find(({ kind }) => kind === 'run')!;
  expect(run.request_id).not.toBe('');
  expect(run.author).toBe('root'); // the name of the key that requested the backtest
  const { runs } = (await ask<{ readonly runs: readonly { readonly run_id: string }[] }>('GET', '/analytics/PUB/runs'))
    .body;
  const runIds = body.entries.flatMap(({ run_id: id }) => id ?? []);
  expect(runIds).toEqual(expect.arrayContaining(runs.map(({ run_id: id }) => id)));
  expect(body.entries.find(({ kind }) => kind === 'signing-key')).toMatchObject({ author: 'desk', action: 'created' });
  // Times are compared as instants, whatever their time zones and fractions are.
  const times = body.entries.map(({ at: timestamp }) => timestamp);
  const median = times[Math.floor(times.length / 2)]!;
  const shiftedTime = new Date(Date.parse(median) + 2 * 3_600_000).toISOString().replace('Z', '+02:00');
  for (const [query, count] of [
    [`start=${encodeURIComponent(shiftedTime)}`, times.filter((time) => Date.parse(time) >= Date.parse(median)).length],
    [`end=${encodeURIComponent(shiftedTime)}`, times.filter((time) => Date.parse(time) <= Date.parse(median)).length],
    ['kind=publication&id=PUB', publishedEntries.length],
    [`start=${median.slice(0, 10)}&end=${times.at(-1)!.slice(0, 10)}`, times.length],
  ] as const) {
    const result = await ask<{ readonly entries: AuditEntry[] }>('GET', `/audit?${query}`);
    expect(result.body.entries.length, query).toBe(count);
  }
  for (const path of ['/audit', '/analytics/PUB/published']) {
    const refusal = await ask('GET', `${path}?start=2024-02-01&end=2024-01-01`);
    expect(refusal, path).toMatchObject({ status: 422, body: { error: { code: 'INVALID_RANGE' } } });
  }
  const indexEntries = await ask<{ readonly entries: AuditEntry[] }>('GET', '/audit?kind=index&author=root&limit=1');
  expect(indexEntries.body.entries).toEqual([body.entries.find(({ kind }) => kind === 'index')]);
});

test('closes based on bars of only some securities are refused with their counts, unless the request allows them', async () => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
  const absentPrices: Readonly<Record<string, readonly string[]>> = { '2024-01-04': ['A', 'B'], '2024-01-05': ['A'] };
  const data = dates.flatMap((date) =>
    ['A', 'B', 'C', 'D'].filter((name) => !absentPrices[date]?.includes(name)).map((name) => [name, date, 100]),
  );
  const market = createFrame(['identifier', 'date', 'CLOSE'], data);
  await ask('POST', '/data/import', { name: 'Partial', store_id: 'partial', tables: { market }, activate: true });
  await ask('PUT', '/indices/PART', { ...createDefinition({ type: 'EqualWeight' }), id: 'PART', base_date: dates[0] });
  await runToEnd('/analytics/PART/backtest', {});
  const publishPart = (body: object) => ask<Publication>('POST', '/analytics/PART/publish', body, 'desk');
  const refusal = await ask<{ readonly error: object }>('POST', '/analytics/PART/publish', {}, 'desk');
  const closes = [
    { date: '2024-01-04', held: 4, without_bar: 2 },
    { date: '2024-01-05', held: 4, without_bar: 1 },
  ];
  const error = { code: 'PARTIAL_CLOSES', detail: { closes, total: 2 } };
  expect(refusal).toMatchObject({ status: 409, body: { error } });
  expect((await ask('GET', '/analytics/PART/published')).status).toBe(404);
  expect((await publishPart({ through: '2024-01-03' })).body).toMatchObject({ published: 2 });
  expect((await publishPart({ through: '2024-01-04' })).status).toBe(409);
  expect((await publishPart({ allow_partial: true, reason: 'Halted' })).body).toMatchObject({ published: 2 });
  const { body } = await ask<{ readonly entries: PublicationEntry[] }>('GET', '/analytics/PART/published');
  expect(body.entries.map(({ kind, reason }) => [kind, reason])).toEqual([
    ['close', null],
    ['close', null],
    ['close', 'Halted (Published with 2 of 4 names without a bar of that date.)'],
    ['close', 'Halted (Published with 1 of 4 names without a bar of that date.)'],
  ]);

  // If one security of four is missing, it counts as a trading halt. If two are missing, it counts as a partial
  // delivery.
  const health = await ask<{ readonly store: object }>('GET', '/health');
  expect(health.body.store).toMatchObject({ active: 'partial', partial_dates: { total: 1, latest: ['2024-01-04'] } });
  const audit = await ask('GET', '/data/stores/partial/audit');
  expect(audit.body).toMatchObject({ partial_dates: [{ path: 'market[2024-01-04]', count: 2, places: ['A', 'B'] }] });
});
