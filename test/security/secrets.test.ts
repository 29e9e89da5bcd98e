import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { issueKey } from '#services/keys/keys.js';
import { runToEnd, runHere, startService, type Run } from '../cli/process.js';
import { IS_SOAK } from '../soak.js';

/** A secret that the service receives. It must not occur in later outputs and files. */
const PASSWORD = 'hunter2-correct-horse';
const givenKey = issueKey({ name: 'given', scopes: ['admin'], expires: null }, Date.now());
const wrongCloses = `${givenKey.key.slice(0, 17)}${'w'.repeat(43)}`;
const getSecret = (key: string) => key.split('_').slice(2).join('_');

let home: string;
let service: Run & { readonly url: string };
let storedKey: string;
const messages: string[] = [];

async function ask(method: string, path: string, headers: Record<string, string>, body?: unknown): Promise<number> {
  const response = await fetch(`${service.url}${path}`, {
    method,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  messages.push(`${JSON.stringify([...response.headers])}${await response.text()}`);
  return response.status;
}

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'divisor-secrets-'));
  const result = await runHere(['keys', 'create', '--name', 'stored', '--scopes', 'read,data', '--home', home]);
  storedKey = result.out.trim();
  const { record } = givenKey;
  service = await startService(
    home,
    ['--log-level', 'trace', '--workers', '1', '--drain-ms', '0', '--database-hosts', '127.0.0.1:1'],
    {
      DIVISOR_API_KEYS: `${record.name}:${record.id}:${record.sha256}:${record.scopes.join('+')}`,
    },
  );
  const key = { authorization: `Bearer ${givenKey.key}` };
  for (const headers of [
    key,
    { 'x-api-key': storedKey },
    { 'x-api-key': wrongCloses },
    { authorization: `Basic ${Buffer.from(`a:${PASSWORD}`).toString('base64')}` },
    { ...key, 'x-api-key': storedKey },
    {},
  ]) {
    await ask('GET', '/indices', headers);
    await ask('GET', '/metrics', headers);
  }
  await ask('GET', `/indices?api_key=${givenKey.key}`, key);
  await ask('GET', `/indices/${encodeURIComponent(givenKey.key)}`, key);
  await ask('GET', `/nowhere/${givenKey.key}`, key);
  const databases = [
    `postgresql://reader:${PASSWORD}@127.0.0.1:1/x`,
    `postgres://reader:${PASSWORD}@db.example.com/x`,
    `postgresql://reader:${PASSWORD}@127.0.0.1:1/x?sslcert=/etc/passwd`,
    `mysql://reader:${PASSWORD}@127.0.0.1/x`,
    `postgresql://reader:${PASSWORD}@[::1/x`,
    `reader:${PASSWORD}@127.0.0.1`,
  ];
  for (const location of databases)
    await ask('POST', '/data/stores', key, { name: 'Base', kind: 'database', location });
  await ask('POST', '/data/stores', key, { name: 'Base', kind: 'folder', location: databases[0] });
  await ask('GET', '/data/stores', key);
  await ask('GET', '/jobs', key);
  await ask('GET', '/health', {});
  await ask('GET', '/openapi.json', key);
  await ask('POST', '/data/stores', key, `{"name":"x","password":"${PASSWORD}"`);
});

afterAll(async () => {
  service?.child.kill('SIGTERM');
  await service?.ended;
  await rm(home, { recursive: true, force: true });
});

const listSecrets = () => [
  getSecret(givenKey.key),
  getSecret(storedKey),
  'w'.repeat(43),
  PASSWORD,
  givenKey.record.sha256,
];

test('no answer contains a secret', () => {
  expect(messages.length).toBeGreaterThan(20);
  // A response repeats ids and paths of its request. So these are left out.
  const leaks = messages.filter((text) => !/INVALID_IDENTIFIER|ROUTE_NOT_FOUND|INDEX_NOT_FOUND/.test(text));
  for (const secret of listSecrets())
    expect(leaks.filter((text) => text.includes(secret)).map((text) => text.slice(0, 800))).toEqual([]);
});

test('no line of the log contains a secret, at the most detailed level', () => {
  const lines = service.err().trim().split('\n');
  expect(lines.length).toBeGreaterThan(20);
  for (const secret of listSecrets())
    expect(lines.filter((line) => line.includes(secret)).map((line) => line.slice(0, 800))).toEqual([]);
});

test('the home contains digests of keys, never a key', async () => {
  const names = (await readdir(home, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  expect(names.length).toBeGreaterThan(1);
  for (const entry of names) {
    const bytes = await readFile(join(entry.parentPath, entry.name));
    for (const secret of [getSecret(givenKey.key), getSecret(storedKey), PASSWORD])
      expect([entry.name, bytes.includes(secret)]).toEqual([entry.name, false]);
  }
});

test('commands show no secret except the key that they create, once', async () => {
  const { record } = givenKey;
  const environment = { DIVISOR_API_KEYS: `${record.name}:${record.id}:${record.sha256}:${record.scopes.join('+')}` };
  for (const words of [['config'], ['keys', 'list'], ['doctor'], ['verify']]) {
    // A separate process is used because its whole output can be captured.
    const run = words[0] === 'doctor' ? runToEnd : runHere;
    const { out, err } = await run([...words, '--home', home], environment);
    expect(`${out}${err}`).not.toBe('');
    for (const secret of listSecrets()) expect([words[0], `${out}${err}`.includes(secret)]).toEqual([words[0], false]);
  }
});

test.runIf(IS_SOAK)('an unknown key takes as long as a wrong one', async () => {
  const { createKeys } = await import('#services/keys/keys.js');
  const keys = await createKeys(
    { list: () => ({ documents: [] }), ids: () => [] } as never,
    [givenKey.record],
    Date.now,
  );
  const unknownKey = `dvs_${'Z'.repeat(12)}_${'w'.repeat(43)}`;
  const medians = [wrongCloses, unknownKey].map((key) => {
    const times = Array.from({ length: 4000 }, () => {
      const startNs = process.hrtime.bigint();
      keys.verify(key);
      return Number(process.hrtime.bigint() - startNs);
    });
    return times.toSorted((a, b) => a - b)[2000]!;
  });
  // The limit is in nanoseconds. The documented bound is one millisecond over the network.
  expect(Math.abs(medians[0]! - medians[1]!)).toBeLessThan(20_000);
});
