import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ErrorDetail } from '#domain/base/refusals.js';
import { issueKey } from '#services/keys/keys.js';
import { startService } from '../cli/process.js';
import { listReaders } from '../market/process/reading-processes.js';

/** Memory limit in MiB of a process that reads data. A key must not take resources away from other clients. */

const READER_MEGABYTES = 640;
const [greedy, modest] = ['greedy', 'modest'].map((name) =>
  issueKey({ name, scopes: ['read', 'data'], expires: null }, Date.now()),
) as [ReturnType<typeof issueKey>, ReturnType<typeof issueKey>];

let folder: string;
let service: Awaited<ReturnType<typeof startService>>;

/** Creates a DuckDB file in which the market is a view. */
async function createViewFile(name: string, price: string): Promise<string> {
  const path = join(folder, name);
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run(`CREATE VIEW market AS SELECT 'A' AS identifier, DATE '2024-01-02' AS date, ${price} AS CLOSE`);
  connection.closeSync();
  instance.closeSync(); // DuckDB locks the file until the instance is closed
  return `duckdb://${path}`;
}

async function ask(key: string, path: string, body: unknown, signal?: AbortSignal) {
  const response = await fetch(`${service.url}${path}`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  });
  return { status: response.status, body: (await response.json()) as { readonly error?: ErrorDetail } };
}

const countReaders = () => listReaders(service.child.pid!).length;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'divisor-starved-'));
  service = await startService(
    join(folder, 'home'),
    ['--data-roots', folder, '--drain-ms', '0', '--workers', '1', '--reader-memory-mb', String(READER_MEGABYTES)],
    {
      DIVISOR_WARM_UP: 'off',
      DIVISOR_API_KEYS: [greedy, modest]
        .map(({ record }) => `${record.name}:${record.id}:${record.sha256}:read+data`)
        .join(','),
    },
  );
});
afterAll(async () => {
  service.child.kill('SIGTERM');
  await service.ended;
  await rm(folder, { recursive: true, force: true });
});

test('a key whose data never ends leaves a reading slot to another, and its processes end when its clients disconnect', async () => {
  const location = await createViewFile('endless.db', '(SELECT sum(sin(i)) FROM range(1000000000000) t(i))');
  const leavingController = new AbortController();
  const request = Array.from({ length: 4 }, () =>
    ask(greedy.key, '/data/inspect', { location, tables: { market: 'market' } }, leavingController.signal).catch(
      () => 'left',
    ),
  );
  await expect.poll(countReaders).toBeGreaterThanOrEqual(2);
  const smallFolder = join(folder, 'small');
  await mkdir(smallFolder);
  await writeFile(join(smallFolder, 'market.csv'), 'identifier,date,CLOSE\nA,2024-01-02,10\n');
  const store = { store_id: 'small', name: 'Small', kind: 'folder', location: smallFolder };
  expect((await ask(modest.key, '/data/stores', store)).status).toBe(201);
  leavingController.abort();
  expect(await Promise.all(request)).toEqual(['left', 'left', 'left', 'left']);
  await expect.poll(countReaders).toBeLessThanOrEqual(1); // one reader may wait for the next task
  expect((await ask(greedy.key, '/data/inspect', { location: smallFolder })).status).toBe(200);
});

test.skipIf(process.platform !== 'linux')('the system limits the memory of a reading process', async () => {
  await expect.poll(countReaders).toBeGreaterThan(0);
  for (const pid of listReaders(service.child.pid!)) {
    const limitsText = await readFile(`/proc/${pid}/limits`, 'utf8');
    expect(/^Max data size +(\d+)/m.exec(limitsText)?.[1]).toBe(String(READER_MEGABYTES * 2 ** 20));
  }
  const location = await createViewFile('large.db', "length(repeat('x', 900000000))::DOUBLE");
  const { status, body } = await ask(greedy.key, '/data/stores', { name: 'Large', kind: 'database', location });
  expect([status, body.error?.detail?.['findings']]).toMatchObject([422, [{ code: 'UNREADABLE_FILE' }]]);
  expect((await fetch(`${service.url}/health/live`)).status).toBe(200);
});
