import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { canPage, findMemoryLimit, limitMemory } from '#kernels/memory/paged-memory.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { runMarketTask } from '#market/serve/market-process.js';
import { createIncomingMarket, createOutgoingMarket } from '#market/panels/market-transfer.js';
import { allocateEmptyPanel } from '#market/panels/panels.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { handOverContent, listSteps } from './handed-over.js';
import { listReaders } from './reading-processes.js';
import { writeFiles } from '../store-folder.js';
import { NO_TABLES } from '../../domain/backtest/market-builder.js';
import { createSpec } from '../../synthetic-market.js';

const createFolder = openTemporaryFolders();

async function readSmall() {
  const folder = await createFolder();
  await writeFiles(folder, { 'market.csv': 'identifier,date,CLOSE\nA,2024-01-02,10\n' });
  return read(folder);
}

async function read(folder: string) {
  const files = await listFolderFiles(
    folder,
    { tables: {}, mapping: null },
    createLocations([folder]),
    createProblems(),
  );
  return runMarketTask('readFiles', { files }, { load: { datasetId: 's', adjustment: 'none' } });
}

/** Returns files that tasks of this process have left in the folders for transfers. */
const listLeftovers = () =>
  ['/dev/shm', tmpdir()].flatMap((place) =>
    readdirSync(place).filter((name) => name.startsWith(`divisor-${process.pid}-`)),
  );

test('a process waits for the next task, which runs as well when that one has died', async () => {
  expect(await readSmall()).toMatchObject({ kind: 'accepted', summary: { identifiers: 1 } });
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  const [spare] = listReaders(process.pid);
  process.kill(spare!, 'SIGKILL');
  await expect.poll(() => listReaders(process.pid)).not.toContain(spare);
  expect(await readSmall()).toMatchObject({ kind: 'accepted', summary: { identifiers: 1 } });
  expect(listLeftovers()).toEqual([]);
});

const SPEC = createSpec({
  assets: 20,
  sessions: Int32Array.from({ length: 100 }, (_, t) => 15_000 + t),
  dividend_yield: 0.02,
  splits_per_year: 0.03,
  delistings_per_year: 0.01,
});

const generateInto = (folder: string, seed: number) =>
  runMarketTask('generate', { spec: { ...SPEC, seed }, folder }, { load: { datasetId: 's', adjustment: 'none' } });

test('a small process runs the next task after its own', async () => {
  const generate = async (seed: number) => generateInto(join(await createFolder(), 'made'), seed);
  const first = await generate(1);
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  const waitingReaders = listReaders(process.pid);
  const otherOutcomes = [await generate(2), await generate(3), await generate(1)];
  await expect.poll(() => listReaders(process.pid)).toEqual(waitingReaders);
  const hashes = [first, ...otherOutcomes].map((result) =>
    result.kind === 'accepted' ? result.summary.contentHash : null,
  );
  expect([hashes[3] === hashes[0], new Set(hashes).size]).toEqual([true, 3]);
  expect(listLeftovers()).toEqual([]);
});

test('Parquet files are read again and again, and changes of one of them are noticed', async () => {
  const [first, second] = [join(await createFolder(), 'made'), join(await createFolder(), 'made')];
  for (const [seed, folder] of [first, second].entries()) await generateInto(folder, seed);
  const hashes = [await read(first), await read(second), await read(first)];
  cpSync(second, first, { recursive: true });
  hashes.push(await read(first));
  // One process serves all tasks while its memory is small. Otherwise another process replaces it.
  await expect.poll(() => listReaders(process.pid).length).toBe(1);
  const [a, b, repeatedHash, changedHash] = hashes.map((outcome) =>
    outcome.kind === 'accepted' ? outcome.summary.contentHash : outcome,
  );
  expect([repeatedHash, changedHash, a === b]).toEqual([a, b, false]);
  expect(listLeftovers()).toEqual([]);
});

test('a store larger than its memory is paged in both processes, with the same values', async ({ skip }) => {
  const usualLimit = findMemoryLimit();
  const folder = await createFolder();
  const sessions = Int32Array.from({ length: 500 }, (_, t) => 15_000 + t);
  const generate = async () => {
    const task = { spec: { ...SPEC, seed: 1, assets: 100, sessions }, folder: join(await createFolder(), 'made') };
    const result = await runMarketTask('generate', task, { load: { datasetId: 's', adjustment: 'none' } });
    if (result.kind !== 'accepted') throw new Error('the market was refused');
    return [result.summary.contentHash, ...result.handle!.fields.map(({ values }) => Buffer.from(values))] as const;
  };
  try {
    limitMemory({ panelBytes: 100_000, folder });
    if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
    const pagedOutcome = await generate();
    expect(readFileSync('/proc/self/maps', 'utf8')).toContain(folder);
    limitMemory(usualLimit);
    const inMemory = await generate();
    expect(
      pagedOutcome.every(
        (part, i) => inMemory[i] === part || Buffer.compare(part as Buffer, inMemory[i] as Buffer) === 0,
      ),
    ).toBe(true);
  } finally {
    limitMemory(usualLimit);
  }
  expect([...listLeftovers(), ...readdirSync(folder)]).toEqual([]);
});

test('rows of a text file beyond the memory are paged, with the same content', async ({ skip }) => {
  const usualLimit = findMemoryLimit();
  const folder = await createFolder();
  const days = Array.from({ length: 400 }, (_, t) => new Date(1.7e12 - 86_400_000 * t).toISOString().slice(0, 10));
  const rows = days.flatMap((day, t) => Array.from({ length: 50 }, (_, n) => `N${n},${day},${1 + ((t * 7 + n) % 97)}`));
  await writeFiles(folder, { 'market.csv': `identifier,date,CLOSE\n${rows.join('\n')}\n` });
  const inMemory = await read(folder);
  try {
    limitMemory({ panelBytes: 100_000, folder: await createFolder() });
    if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
    const pagedOutcome = await read(folder);
    const hashes = [inMemory, pagedOutcome].map((outcome) =>
      outcome.kind === 'accepted' ? outcome.summary.contentHash : outcome,
    );
    expect(hashes[1]).toBe(hashes[0]);
  } finally {
    limitMemory(usualLimit);
  }
});

test('a process that is killed while it waits for an answer fails its task and leaves no files', async () => {
  const body = new TextEncoder().encode(
    JSON.stringify({
      name: 'x',
      tables: { market: { index: [0], columns: ['identifier', 'date', 'CLOSE'], data: [['A', '2024-01-02', 1]] } },
    }),
  );
  const killing = runMarketTask(
    'importBody',
    {},
    {
      load: { datasetId: '', adjustment: 'none' },
      body,
      onImport: () => {
        for (const pid of listReaders(process.pid)) process.kill(pid, 'SIGKILL');
        return new Promise(() => {});
      },
    },
  );
  await expect(killing).rejects.toMatchObject({
    code: 'STORE_READ_FAILED',
    message: expect.stringContaining('SIGKILL') as string,
  });
  expect(listLeftovers()).toEqual([]);
  expect(await readSmall()).toMatchObject({ kind: 'accepted' });
});

test('a task that is cancelled rejects with the reason and leaves no files', async () => {
  const cancelling = new AbortController();
  const sessions = Int32Array.from({ length: 2000 }, (_, t) => 15_000 + t);
  const spec = { ...SPEC, seed: 1, assets: 200, sessions };
  const reason = new Error('no longer wanted');
  const generatingRun = runMarketTask(
    'generate',
    { spec, folder: join(await createFolder(), 'made') },
    {
      load: { datasetId: 's', adjustment: 'none' },
      signal: cancelling.signal,
      onProgress: () => cancelling.abort(reason),
    },
  );
  await expect(generatingRun).rejects.toBe(reason);
  expect(listLeftovers()).toEqual([]);
});

test('a market is handed over through the available space of the first folder, and a full disk is reported', async ({
  skip,
}) => {
  const base = await createFolder();
  const smallFolder = join(base, 'small');
  mkdirSync(smallFolder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', smallFolder], { stdio: 'pipe' });
  } catch {
    return skip('mounting a small volume needs more rights than this user has');
  }
  try {
    const [days, assets] = [20_000, 150]; // 23 MiB.
    const identifiers = Array.from({ length: assets }, (_, n) => `ID${String(n).padStart(3, '0')}`);
    const content = {
      identifiers,
      dates: Int32Array.from({ length: days }, (_, t) => t),
      fields: new Map([['CLOSE', allocateEmptyPanel(days * assets).map((_, cell) => cell + 0.5)]]),
      ...NO_TABLES,
    };
    const steps = await listSteps([join(smallFolder, 'steps'), join(base, 'steps')], content);
    expect(new Set(steps.flatMap((step) => ('file' in step ? [step.file] : [])))).toEqual(
      new Set([join(smallFolder, 'steps'), join(base, 'steps')]),
    );
    rmSync(join(smallFolder, 'steps'));
    const { fields } = await handOverContent([join(smallFolder, 'market'), join(base, 'market')], content);
    const sameBytes = Buffer.from(fields[0]!.values, 0, 8 * days * assets).equals(
      Buffer.from(content.fields.get('CLOSE')!.buffer),
    );
    expect(sameBytes).toBe(true);
    expect([...readdirSync(smallFolder), ...readdirSync(base)].toSorted()).toEqual(['small', 'steps']);
    await expect(listSteps([join(smallFolder, 'market')], content)).rejects.toMatchObject({ code: 'ENOSPC' });
  } finally {
    execFileSync('umount', ['-l', smallFolder]);
  }
});

test('panels of another shape discard the earlier ones', async () => {
  const base = await createFolder();
  const createContent = (days: number, value: number) => ({
    identifiers: ['A', 'B'],
    dates: Int32Array.from({ length: days }, (_, t) => t),
    fields: new Map([['CLOSE', allocateEmptyPanel(2 * days).fill(value)]]),
    ...NO_TABLES,
  });
  const incoming = createIncomingMarket();
  try {
    const outgoing = createOutgoingMarket([join(base, 'market')], (step) => incoming.take(step));
    outgoing.begin(createContent(200, 1));
    outgoing.send(64, 128);
    await outgoing.finish(createContent(100, 2));
    const { dates, fields } = await incoming.market()!;
    expect(dates.byteLength).toBe(400);
    expect(new Float64Array(fields[0]!.values).subarray(0, 200).every((value) => value === 2)).toBe(true);
  } finally {
    await incoming.close();
  }
});

test('panels in a file that this process cannot map are read from it, with their edges', async () => {
  const base = await createFolder();
  const [days, assets] = [300, 7];
  const panel = new Uint8Array(Float64Array.from({ length: days * assets }, (_, cell) => cell + 0.5).buffer);
  // 24 bytes precede the first whole page. No process uses such a layout, so the file cannot be mapped.
  const file = { path: join(base, 'panel'), before: 24, bytes: 8192 };
  const end = file.before + file.bytes;
  writeFileSync(file.path, panel.subarray(file.before, end));
  const restPath = join(base, 'rest');
  writeFileSync(restPath, Buffer.concat([panel.subarray(0, file.before), panel.subarray(end)]));
  const emptyRange = { offset: 0, bytes: 0 };
  const incoming = createIncomingMarket();
  try {
    incoming.take({ kind: 'shape', days, assets, fields: ['CLOSE'], files: [file] });
    const edges = { offset: 0, bytes: panel.length - file.bytes };
    incoming.take({
      kind: 'rest',
      file: restPath,
      dates: emptyRange,
      tables: emptyRange,
      actionPlaces: emptyRange,
      edges,
    });
    const { fields } = await incoming.market()!;
    expect(Buffer.from(fields[0]!.values, 0, panel.length).equals(panel)).toBe(true);
    expect(readdirSync(base)).toEqual([]);
  } finally {
    await incoming.stop();
    incoming.close();
  }
});
