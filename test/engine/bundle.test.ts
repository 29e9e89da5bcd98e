import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AuditLog } from '#contract/governance.js';
import { formatDay } from '#domain/base/time.js';
import type { PublicationEntry } from '#domain/definition/publication.js';
import { verifyBundle } from '#engine/main.js';
import { issueKey } from '#services/keys/keys.js';
import { decodeSlice } from '#views/bundle/inputs.js';
import { readTar } from '#views/bundle/tar.js';
import { runHere } from '../cli/process.js';
import { runService, type RunningService } from '../services/running-service.js';
import { addFiles, addHashes, addPrice } from './rewritten-bundle.js';

/** Service with an index, its published closes, and their bundle. */
let service: RunningService;
let folder: string;
let bundle: Uint8Array;
let narrowBundle: Uint8Array;

const createKey = (name: string, scopes: readonly ('read' | 'admin' | 'publish' | 'run')[]) => {
  const { key, record } = issueKey({ name, scopes, expires: null }, Date.now());
  return { key, given: `${name}:${record.id}:${record.sha256}:${scopes.join('+')}` };
};
const [root, reader, runner] = [
  createKey('root', ['admin']),
  createKey('reader', ['read']),
  createKey('runner', ['run']),
];
const ask = <T = Record<string, unknown>>(method: string, path: string, body?: unknown) =>
  service.ask<T>(method, path, body, { 'x-api-key': root.key });

async function runToEnd(path: string, body: unknown): Promise<void> {
  const { body: started } = await ask<{ readonly job_id: string }>('POST', path, body);
  expect((await service.waitForJob(started.job_id, { 'x-api-key': root.key })).error).toBeNull();
}

const definition = {
  id: 'PROVED',
  name: 'Proved',
  calendar: 'XNYS',
  base_date: '2023-02-01',
  rebalance: { frequency: 'monthly' },
  pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.2 } },
  amendments: [{ effective_from: '2023-04-01', changes: { pipeline: { weighting: { type: 'EqualWeight' } } } }],
};

const fetchBundle = async (indexId: string, key = reader.key): Promise<Response> =>
  fetch(new URL(`/analytics/${indexId}/published/bundle`, service.url()), { headers: { 'x-api-key': key } });

async function bundleIndex(document: { readonly id: string }): Promise<Uint8Array> {
  expect((await ask('PUT', `/indices/${document.id}`, document)).status).toBeLessThan(300);
  await runToEnd(`/analytics/${document.id}/backtest`, { end: '2023-05-31' });
  expect((await ask('POST', `/analytics/${document.id}/publish`, {})).status).toBe(200);
  const answer = await fetchBundle(document.id);
  expect(answer.status).toBe(200);
  return new Uint8Array(await answer.arrayBuffer());
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-bundle-'));
  service = await runService([], { DIVISOR_API_KEYS: [root, reader, runner].map(({ given }) => given).join(',') });
  await runToEnd('/data/synthetic', { store_id: 'm', seed: 5, assets: 20, start: '2023-01-03', end: '2023-06-30' });
  bundle = await bundleIndex(definition);
  const identifiers = readMarket(bundle).identifiers.filter((_, n) => n % 5 === 0);
  narrowBundle = await bundleIndex({
    ...definition,
    id: 'NARROW',
    universe: { kind: 'list', identifiers },
  } as typeof definition);
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

const listFaultKinds = ({ faults }: Awaited<ReturnType<typeof verifyBundle>>) => [
  ...new Set(faults.map(({ kind }) => kind)),
];

test('every published close is recomputed from the bundle alone', async () => {
  const { body } = await ask<{ readonly entries: readonly PublicationEntry[] }>('GET', '/analytics/PROVED/published');
  const verdict = await verifyBundle(bundle);
  expect(verdict).toMatchObject({
    ok: true,
    index_id: 'PROVED',
    closes: body.entries.length,
    first: body.entries[0]!.date,
    last: '2023-05-31',
    head: body.entries.at(-1)!.hash,
    signatures: 'verified',
    faults: [],
  });
});

const readMarket = (bytes: Uint8Array) => {
  const files = readTar(bytes);
  return decodeSlice({ 'market.arrow': files.get('market.arrow')!.slice(), 'tables.json': files.get('tables.json')! });
};

test('a bundle has the fields, securities and dates that the index reads, and no others', async () => {
  const [market, few] = [readMarket(bundle), readMarket(narrowBundle)];
  expect([...market.fields.keys()]).toContain('SHARES_OUTSTANDING');
  expect([...market.fields.keys()]).not.toContain('HIGH');
  expect(formatDay(market.dates.at(-1)!)).toBe('2023-05-31');
  expect(few.identifiers).toEqual(market.identifiers.filter((_, n) => n % 5 === 0));
  expect((await verifyBundle(narrowBundle)).ok).toBe(true);
});

test('a changed price is reported by its date and security, and so is the first close that it changes', async () => {
  const market = readMarket(bundle);
  const day = market.dates[60]!;
  const column = market.identifiers.findIndex(
    (_, n) => !Number.isNaN(market.fields.get('CLOSE')![60 * market.identifiers.length + n]!),
  );
  const identifier = market.identifiers[column]!;
  const verdict = await verifyBundle(addPrice(bundle, { identifier, day, by: 1.001 }));
  expect(verdict.ok).toBe(false);
  expect(verdict.faults[0]).toMatchObject({ kind: 'input', identifier, date: formatDay(day) });
  expect(verdict.faults.filter(({ kind }) => kind === 'input')).toHaveLength(1);
  expect(verdict.faults.find(({ kind }) => kind === 'close')?.date).toBe(formatDay(day));
});

test('recomputed hashes without the key do not hide a change', async () => {
  const market = readMarket(bundle);
  const changedBundle = addPrice(bundle, { identifier: market.identifiers[0]!, day: market.dates[60]!, by: 1.001 });
  const verdict = await verifyBundle(addHashes(changedBundle));
  expect(listFaultKinds(verdict)).toEqual(['signature', 'close']);
});

test('a changed definition, log or key is reported, and so is a truncated or empty file', async () => {
  const editFile = (name: string, from: string, to: string) =>
    addFiles(bundle, (files) => {
      const text = new TextDecoder().decode(files.get(name));
      expect(text).toContain(from);
      return { [name]: new TextEncoder().encode(text.replace(from, to)) };
    });
  expect(listFaultKinds(await verifyBundle(editFile('plan.json', '"cap":0.2', '"cap":0.3')))).toEqual([
    'file',
    'close',
  ]);
  expect(
    listFaultKinds(await verifyBundle(editFile('log.ndjson', '"kind":"close"', '"kind":"restatement"'))),
  ).toContain('log');
  expect(
    listFaultKinds(await verifyBundle(editFile('keys.json', '"valid_until":null', '"valid_until":"2000-01-01"'))),
  ).toContain('signature');
  expect(listFaultKinds(await verifyBundle(bundle.subarray(0, 5000)))).toEqual(['file']);
  expect(listFaultKinds(await verifyBundle(new TextEncoder().encode('hello')))).toEqual(['file']);
  const verifyTerms = { keys: { keys: [] }, head: '0'.repeat(64) };
  expect(listFaultKinds(await verifyBundle(bundle, verifyTerms))).toEqual(['signature', 'log']);
});

test('`divisor bundle` writes a bundle, and `divisor verify-bundle` exits with 0 for a valid one and 1 for a changed one', async () => {
  const file = join(folder, 'proved.tar');
  const words = ['bundle', 'PROVED', '--out', file, '--url', service.url()];
  expect((await runHere(words, { DIVISOR_API_KEY: reader.key })).status).toBe(0);
  const intactOutcome = await runHere(['verify-bundle', file]);
  expect([intactOutcome.status, intactOutcome.out]).toEqual([0, expect.stringContaining('recomputed bit for bit')]);
  const market = readMarket(bundle);
  const identifier = market.identifiers[0]!;
  await writeFile(file, addPrice(bundle, { identifier, day: market.dates[60]!, by: 1.001 }));
  const changedOutcome = await runHere(['verify-bundle', file]);
  expect(changedOutcome.status).toBe(1);
  expect(changedOutcome.out).toContain(`${identifier} on ${formatDay(market.dates[60]!)}`);
  expect((await runHere(['verify-bundle', join(folder, 'absent')])).status).toBe(64);
  expect((await runHere(['bundle', 'PROVED', '--url', service.url()])).status).toBe(64);
});

test('a bundle needs the scope of exports, and each download is in the audit log', async () => {
  expect((await fetchBundle('PROVED', runner.key)).status).toBe(403);
  expect((await fetchBundle('ABSENT')).status).toBe(404);
  const { body } = await ask<z.infer<typeof AuditLog>>('GET', '/audit?kind=read&limit=100');
  const downloads = body.entries.filter(({ note }) => note === 'getPublishedBundle');
  expect(downloads.length).toBeGreaterThanOrEqual(3);
  expect(new Set(downloads.map(({ author }) => author))).toEqual(new Set(['reader']));
});
