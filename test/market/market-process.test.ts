import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderFiles } from '#market/folder.js';
import { createLocations } from '#market/locations.js';
import { runMarketTask } from '#market/market-process.js';
import { emptyPanel } from '#market/panels.js';
import { createProblems } from '#market/problems.js';
import { readSharedFile, writeWhereRoomIs } from '#market/shared-file.js';
import { temporaryFolders } from '../store/temporary-folder.js';
import { readersOf } from './reading-processes.js';
import { writeFiles } from './store-folder.js';

const folderFor = temporaryFolders();

async function readSmall() {
  const folder = await folderFor();
  await writeFiles(folder, { 'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,10\n' });
  const files = await folderFiles(folder, {}, createLocations([folder]), createProblems());
  return runMarketTask('readFiles', { files, after: null }, { load: { storeId: 's', adjustment: 'none' } });
}

/** What tasks of this process have left in the places they hand markets over through. */
const leftBehind = () => ['/dev/shm', tmpdir()].flatMap((place) => readdirSync(place).filter((name) => name.startsWith(`divisor-${process.pid}-`)));

test('a process waits for the next task, which runs as well when that one has died', async () => {
  expect(await readSmall()).toMatchObject({ kind: 'accepted', summary: { identifiers: 1 } });
  await expect.poll(() => readersOf(process.pid).length, { timeout: 20_000 }).toBe(1);
  const [spare] = readersOf(process.pid);
  process.kill(spare!, 'SIGKILL');
  await expect.poll(() => readersOf(process.pid), { timeout: 20_000 }).not.toContain(spare);
  expect(await readSmall()).toMatchObject({ kind: 'accepted', summary: { identifiers: 1 } });
  expect(leftBehind()).toEqual([]);
});

test('a process that is killed while it waits for an answer fails its task and leaves nothing behind', async () => {
  const body = new TextEncoder().encode(JSON.stringify({ name: 'x', tables: { market: { index: [0], columns: ['identifier', 'date', 'CLOSE'], data: [['A', '2024-01-02', 1]] } } }));
  const killing = runMarketTask('importBody', {}, {
    load: { storeId: '', adjustment: 'none' }, body,
    onImport: () => {
      for (const pid of readersOf(process.pid)) process.kill(pid, 'SIGKILL');
      return new Promise(() => {});
    },
  });
  await expect(killing).rejects.toMatchObject({ code: 'STORE_READ_FAILED', message: expect.stringContaining('SIGKILL') as string });
  expect(leftBehind()).toEqual([]);
  expect(await readSmall()).toMatchObject({ kind: 'accepted' });
});

test('a task that is cancelled rejects with the reason and leaves nothing behind', async () => {
  const cancelling = new AbortController();
  const sessions = Int32Array.from({ length: 2000 }, (_, t) => 15_000 + t);
  const spec = {
    seed: 1, assets: 200, sessions, exchange: 'XNYS', currency: 'USD', sectors: 2, market_return: 0.07, market_volatility: 0.16, specific_volatility: 0.25, dividend_yield: 0.02,
    splits_per_year: 0.03, delistings_per_year: 0.01, listings_per_year: 0, missing_rate: 0,
  };
  const reason = new Error('no longer wanted');
  const generating = runMarketTask('generate', { spec, folder: join(await folderFor(), 'made') }, {
    load: { storeId: 's', adjustment: 'none' }, signal: cancelling.signal, onProgress: () => cancelling.abort(reason),
  });
  await expect(generating).rejects.toBe(reason);
  expect(leftBehind()).toEqual([]);
});

test('a market is handed over through the first place that has room for it, and a disk that is full is told', async ({ skip }) => {
  const base = await folderFor();
  const small = join(base, 'small');
  mkdirSync(small);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small], { stdio: 'pipe' });
  } catch {
    return skip('mounting a small volume needs more rights than this user has');
  }
  try {
    const close = emptyPanel(20_000).fill(1.5);
    const market = {
      storeId: '', contentHash: '', adjustment: 'none' as const, identifiers: ['A'], dates: Int32Array.from({ length: 20_000 }, (_, t) => t), fields: new Map([['CLOSE', close]]),
      reference: { columns: [], rows: new Map() }, actions: [], universes: [],
    };
    const { file, layout } = await writeWhereRoomIs([join(small, 'market'), join(base, 'market')], market);
    expect(file).toBe(join(base, 'market'));
    expect(readdirSync(small)).toEqual([]);
    const { fields } = await readSharedFile(file, layout);
    expect(new Float64Array(fields[0]!.values, 0, 20_000)).toEqual(new Float64Array(close));
    await expect(writeWhereRoomIs([join(small, 'market')], market)).rejects.toMatchObject({ code: 'ENOSPC' });
  } finally {
    execFileSync('umount', ['-l', small]);
  }
});
