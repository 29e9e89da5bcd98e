import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { Buffer } from 'node:buffer';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  SEPARATE_BYTES,
  canPage,
  clearMemory,
  allocateHandedMemory,
  isPaged,
  isWritten,
  limitMemory,
  findMemoryLimit,
  loadSystemCalls,
  openPagedFile,
  findPagedFile,
  allocatePanels,
  copyInParts,
  allocateWork,
  writeInto,
} from '#kernels/memory/paged-memory.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();
const usualLimit = findMemoryLimit();
const MIB = 2 ** 20;
const canTrim = (): boolean => loadSystemCalls()?.trim !== undefined;
let folder = '';

beforeEach(async () => {
  folder = await createFolder();
  limitMemory({ panelBytes: MIB, folder });
});
afterEach(() => void limitMemory(usualLimit));

/** Returns how many bytes of the memory of this process are mapped to files in the folder. */
function computeMappedBytes(): number {
  const lines = readFileSync('/proc/self/maps', 'utf8').split('\n');
  const ranges = lines.filter((line) => line.includes(folder)).map((line) => line.split(' ', 1)[0]!.split('-'));
  return ranges.reduce((sum, [from, to]) => sum + Number(`0x${to!}`) - Number(`0x${from!}`), 0);
}

const skipUnlessPaged = (skip: (reason: string) => never): void => {
  if (!canPage()) skip('memory is paged on Linux with the optional package koffi');
};

test('memory beyond the limit is in unnamed files that threads share', async ({ skip }) => {
  skipUnlessPaged(skip);
  const panel = new Float64Array(allocatePanels(2 * MIB));
  expect(panel.every((value) => value === 0)).toBe(true);
  expect(computeMappedBytes()).toBeGreaterThanOrEqual(2 * MIB - 2 * 65_536);
  expect(readdirSync(folder)).toEqual([]);
  panel.forEach((_, i) => (panel[i] = i + 0.5));
  const worker = new Worker(
    `const { workerData: panel, parentPort } = require('node:worker_threads');
     let sum = 0;
     for (let i = 0; i < panel.length; i++) { sum += panel[i]; panel[i] = -i; }
     parentPort.postMessage(sum);`,
    { eval: true, workerData: panel },
  );
  const sum = await new Promise((resolve) => {
    worker.once('message', resolve);
  });
  expect(sum).toBe((panel.length * panel.length) / 2);
  expect(panel.every((value, i) => value === -i)).toBe(true);
});

test('large memory that is cleared contains zeros, small and paged memory is unchanged', ({ skip }) => {
  skipUnlessPaged(skip);
  const large = new SharedArrayBuffer(SEPARATE_BYTES + 5);
  const [small, paged] = [new SharedArrayBuffer(MIB), allocatePanels(SEPARATE_BYTES)];
  for (const memory of [large, small, paged]) new Uint8Array(memory).fill(255);
  expect([large, small, paged].map(clearMemory)).toEqual([true, false, false]);
  expect(Buffer.compare(new Uint8Array(large), Buffer.alloc(large.byteLength))).toBe(0);
  for (const memory of [small, paged])
    expect(Buffer.compare(new Uint8Array(memory), Buffer.alloc(memory.byteLength, 255))).toBe(0);
  new Uint8Array(large).fill(1);
  expect(new Uint8Array(large).at(-1)).toBe(1);
});

test('a panel for another process is a file in memory if a folder for it exists; small panels are not', ({ skip }) => {
  skipUnlessPaged(skip);
  limitMemory({ panelBytes: 2 * SEPARATE_BYTES, folder: null });
  expect(findPagedFile(allocateHandedMemory(SEPARATE_BYTES, SEPARATE_BYTES))).toBeUndefined();
  limitMemory({ panelBytes: 2 * SEPARATE_BYTES, folder: null, sharedFolder: folder });
  expect(findPagedFile(allocateHandedMemory(MIB, MIB))).toBeUndefined();
  const result = allocateHandedMemory(SEPARATE_BYTES, SEPARATE_BYTES);
  writeInto(result, 0, new Uint8Array(SEPARATE_BYTES).fill(7));
  const openedFile = openPagedFile(findPagedFile(result)!, SEPARATE_BYTES + MIB)!;
  expect(readdirSync(folder)).toEqual([]);
  const { before, bytes } = { before: 65_536, bytes: SEPARATE_BYTES - 2 * 65_536 };
  expect(Buffer.compare(new Uint8Array(openedFile, before, bytes), Buffer.alloc(bytes, 7))).toBe(0);
});

test('panels are paged by the size of their store, derived arrays from a sixteenth of it on', ({ skip }) => {
  skipUnlessPaged(skip);
  expect([isPaged(MIB), isPaged(MIB + 1)]).toEqual([false, true]);
  allocatePanels(MIB / 4, MIB);
  allocateWork(MIB / 16);
  expect(computeMappedBytes()).toBe(0);
  const panel = allocatePanels(MIB / 4, 2 * MIB);
  const panels = computeMappedBytes();
  const array = allocateWork(MIB / 4);
  expect([panels > 0, computeMappedBytes() > panels, panel.byteLength, array.byteLength]).toEqual([
    true,
    true,
    MIB / 4,
    MIB / 4,
  ]);
});

test('a file that keeps its name is shared with another process, and may have spare space', ({ skip }) => {
  skipUnlessPaged(skip);
  limitMemory({ panelBytes: MIB, folder, keepsNames: true });
  const result = allocatePanels(SEPARATE_BYTES);
  const file = findPagedFile(result)!;
  expect(openPagedFile({ ...file, before: file.before + 8 }, SEPARATE_BYTES + MIB)).toBeUndefined();
  expect(readdirSync(folder)).toHaveLength(1);
  const openedFile = openPagedFile(file, SEPARATE_BYTES + MIB)!;
  expect([openedFile.byteLength, readdirSync(folder), findPagedFile(allocatePanels(8))]).toEqual([
    SEPARATE_BYTES + MIB,
    [],
    undefined,
  ]);
  new Uint8Array(result).fill(7);
  const expected = Buffer.alloc(SEPARATE_BYTES + MIB).fill(7, file.before, file.before + file.bytes);
  expect(Buffer.compare(new Uint8Array(openedFile), expected)).toBe(0);
});

/** Script of a separate process. It requests large memory from the GNU C library in addition to other memory. */
const ALONE_SCRIPT = `
  import { SEPARATE_BYTES, limitMemory, openPagedFile, findPagedFile, allocatePanels } from '#kernels/memory/paged-memory.js';
  import { readdirSync, writeFileSync } from 'node:fs';
  const folder = process.argv[1];
  limitMemory({ panelBytes: 1, folder, keepsNames: true });
  const made = allocatePanels(SEPARATE_BYTES);
  const names = readdirSync(folder).length;
  writeFileSync(folder + '/other', Buffer.alloc(SEPARATE_BYTES));
  const file = { path: folder + '/other', before: 4096 - 16, bytes: 2 ** 20 };
  const places = Array.from({ length: 4096 / 16 }, (_, i) => openPagedFile({ ...file, before: 16 * i }, SEPARATE_BYTES));
  console.log(JSON.stringify([findPagedFile(made) === undefined, names, places.every((place) => place === undefined)]));`;

test('no other process has the file of memory that is adjacent to other memory', ({ skip }) => {
  skipUnlessPaged(skip);
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  if (header.glibcVersionRuntime === undefined) skip('other C libraries map large memory by itself');
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', ALONE_SCRIPT, folder], {
    env: { ...process.env, MALLOC_MMAP_THRESHOLD_: String(2 ** 30) },
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  expect(JSON.parse(stdout)).toEqual([true, 0, true]);
});

test('written bytes are in memory, at its edges, across them and within, whether or not it is paged', ({ skip }) => {
  skipUnlessPaged(skip);
  limitMemory({ panelBytes: MIB, folder, keepsNames: true });
  const pagedPanels = allocatePanels(SEPARATE_BYTES);
  const plainBuffer = new SharedArrayBuffer(SEPARATE_BYTES);
  const { before, bytes } = findPagedFile(pagedPanels)!;
  expect([isWritten(pagedPanels), isWritten(plainBuffer)]).toEqual([true, false]);
  const end = before + bytes;
  const places = [
    [0, SEPARATE_BYTES],
    [0, before + 9],
    [before, 4096],
    [MIB + 3, 5 * MIB],
    [end - 11, SEPARATE_BYTES - end + 11],
    [end, SEPARATE_BYTES - end],
    [0, before],
  ] as const;
  for (const [n, [offset, length]] of places.entries()) {
    const result = Buffer.alloc(length, n + 1);
    for (const memory of [pagedPanels, plainBuffer]) writeInto(memory, offset, result);
    expect(Buffer.compare(new Uint8Array(pagedPanels), new Uint8Array(plainBuffer)), `place ${n}`).toBe(0);
  }
});

test('without a folder nothing is paged, whatever its size', () => {
  limitMemory({ panelBytes: 1, folder: null });
  expect([isPaged(MIB), allocatePanels(MIB).byteLength, computeMappedBytes()]).toEqual([false, MIB, 0]);
});

/** Returns how many bytes of the files in the folder are resident in this process. */
function computeTouchedBytes(): number {
  const parts = readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-)/mu);
  const sizes = parts.filter((part) => part.includes(folder)).map((part) => Number(/^Rss: +(\d+)/mu.exec(part)![1]));
  return 1024 * sizes.reduce((sum, kilobytes) => sum + kilobytes, 0);
}

test('values read once from a file count as memory of no process', ({ skip }) => {
  skipUnlessPaged(skip);
  limitMemory({ panelBytes: MIB, folder, keepsNames: true });
  const result = allocatePanels(SEPARATE_BYTES);
  const bytes = new Float64Array(SEPARATE_BYTES / 8).map((_, i) => i + 0.5);
  writeInto(result, 0, new Uint8Array(bytes.buffer));
  const before = computeTouchedBytes();
  const buffer = new Float64Array(8192);
  const values = new Float64Array(result);
  for (const from of [0, 1, 4095, 1_000_003, values.length - buffer.length]) {
    const copy = copyInParts(values.subarray(from, from + buffer.length), buffer);
    expect(copy.buffer).toBe(buffer.buffer);
    expect(copy).toEqual(bytes.subarray(from, from + buffer.length));
  }
  expect(computeTouchedBytes()).toBe(before);
  expect(copyInParts(values.subarray(7, 9), buffer)).toEqual(Float64Array.of(7.5, 8.5));
});

test('values outside files are read in place', () => {
  const buffer = new Float64Array(1000);
  for (const memory of [new SharedArrayBuffer(8000), new SharedArrayBuffer(SEPARATE_BYTES)]) {
    const values = new Float64Array(memory, 0, 1000);
    expect(copyInParts(values, buffer)).toBe(values);
  }
  expect(copyInParts(new Float64Array(0), buffer)).toHaveLength(0);
});

test.runIf(canTrim())('limited freed memory returns to the system without a trim', () => {
  // A separate process, because the limit cannot be taken back. 16 MiB are below the size that is mapped separately.
  const program = `
    import { createRequire } from 'node:module';
    import { readFileSync } from 'node:fs';
    import { limitFreedMemory } from ${JSON.stringify(new URL('../../../kernels/memory/paged-memory.js', import.meta.url).href)};
    const { load } = createRequire(${JSON.stringify(import.meta.url)})('koffi');
    const system = load(null);
    const [malloc, fill, free] = ['void *malloc(size_t)', 'void *memset(void *, int, size_t)', 'void free(void *)'].map((f) => system.func(f));
    const readBytes = () => Number(readFileSync('/proc/self/statm', 'utf8').split(' ')[1]) * 4096;
    limitFreedMemory();
    const before = readBytes();
    const memory = malloc(${16 * MIB});
    fill(memory, 1, ${16 * MIB});
    const held = readBytes();
    free(memory);
    console.log(JSON.stringify([held - before, readBytes() - before]));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  const [held, left] = JSON.parse(stdout) as [number, number];
  expect(held).toBeGreaterThan(15 * MIB);
  expect(left).toBeLessThan(4 * MIB);
});
