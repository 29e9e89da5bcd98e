import { mkdtempSync, readlinkSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import type { RunDocument } from '#domain/definition/runs.js';
import { LIMITS } from '#domain/base/limits.js';
import type { ExportPart, ExportPartInput } from '#jobs/tasks/runs.js';
import { createExports, type RunExport } from '#services/runs/exports.js';
import { createViewCache } from '#services/runs/views.js';

const folder = mkdtempSync(join(tmpdir(), 'divisor-export-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const createArtifact = (name: string) => ({ name, bytes: 7, sha256: `sha of ${name}` });
const RUN: RunDocument = {
  run_id: 'CORE',
  index_id: 'CORE',
  name: 'Core',
  run_at: 't',
  start: '2024-01-02',
  end: '2024-01-03',
  run_hash: 'h',
  store_content_hash: 's',
  extended_from: null,
  full_run_reason: null,
  engine_version: '0',
  request: {},
  artifacts: {
    result: createArtifact('result'),
    overview: createArtifact('overview'),
    columns: createArtifact('columns'),
    begun: [createArtifact('earlier')],
  },
};

/** Returns the files in the folder that this process has open. */
const openFiles = (): string[] =>
  readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(folder) ? [path.slice(folder.length + 1)] : [];
    } catch {
      return []; // the handle of the directory listing itself
    }
  });

interface Scene {
  readonly parts: number;
  /** Position of the part that fails. Default: no part fails. */
  readonly fails?: number;
}

function createTestExports({ parts, fails = -1 }: Scene) {
  const requests: ExportPartInput[] = [];
  const query = async (_task: string, input: ExportPartInput): Promise<ExportPart> => {
    requests.push(input);
    const { at } = input.from;
    if (at === fails) throw new Error('the thread was lost');
    const bytes = new TextEncoder().encode(`part ${at};`);
    // only half of the bytes fit
    const length = bytes.length >> 1;
    new Uint8Array(input.buffer).set(bytes.subarray(0, length));
    return { length, rest: bytes.slice(length), next: at + 1 < parts ? { at: at + 1, rows: at + 1 } : null };
  };
  const context = {
    documents: { get: async (kind: string) => (kind === 'run' ? { body: RUN } : { body: {} }) },
    artifacts: { file: async ({ name }: { name: string }) => join(folder, name), damaged: async () => new Set() },
    jobs: { query },
    markets: { served: () => undefined },
    states: { findStaleState: async () => null, isOtherStore: async () => false },
  } as unknown as Parameters<typeof createExports>[0];
  return { asked: requests, exports: createExports(context, createViewCache()) };
}

/** Opens the stream of an export. The export has several parts. */
async function readStream({ open }: RunExport): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const body = await open(signal);
  expect(body.bytes).toBeUndefined();
  return (body as { stream: ReadableStream<Uint8Array<ArrayBuffer>> }).stream;
}

/** Returns the text of an export. It does not depend on the sizes of its chunks. */
async function readText({ open }: RunExport): Promise<string> {
  const { bytes, ...body } = await open(signal);
  const stream = 'stream' in body ? (body.stream as ReadableStream<Uint8Array<ArrayBuffer>>) : undefined;
  return new Response(bytes ?? stream!).text();
}

const CSV = { table: 'levels', format: 'csv' } as const;
const { signal } = new AbortController();

beforeEach(() => {
  for (const name of ['columns', 'earlier']) writeFileSync(join(folder, name), name);
});

describe.skipIf(process.platform !== 'linux')('an export', () => {
  test('has every part in order, and its files stay open until the last', async () => {
    const { exports, asked } = createTestExports({ parts: 4 });
    const stream = await readStream(await exports.export('CORE', CSV));
    expect(openFiles().toSorted()).toEqual(['columns', 'earlier']);
    expect(await new Response(stream).text()).toBe('part 0;part 1;part 2;part 3;');
    expect(asked.map(({ from }) => from.rows)).toEqual([0, 1, 2, 3]);
    expect(new Set(asked.map(({ files }) => files.columns)).size).toBe(1);
    expect(openFiles()).toEqual([]);
  });

  test('computes one part while another is sent, and none while nobody reads', async () => {
    const { exports, asked } = createTestExports({ parts: 50 });
    const reader = (await readStream(await exports.export('CORE', CSV))).getReader();
    for (let takenCount = 1; takenCount <= 5; takenCount++) {
      await reader.read();
      await new Promise(setImmediate);
      expect(asked.length).toBeLessThanOrEqual(takenCount + 2);
    }
    await reader.cancel();
    expect(openFiles()).toEqual([]);
    const result = asked.length;
    await new Promise(setImmediate);
    expect(asked.length).toBe(result);
  });

  test.each([1, 4])(
    'of %i parts that was read to its end is cached, another of the same run is not it',
    async (parts) => {
      const { exports, asked } = createTestExports({ parts });
      const text = await readText(await exports.export('CORE', CSV));
      expect(await readText(await exports.export('CORE', CSV))).toBe(text);
      expect(asked.length).toBe(parts);
      await readText(await exports.export('CORE', { ...CSV, start: '2024-01-03' }));
      await readText(await exports.export('CORE', { ...CSV, format: 'arrow' }));
      expect(asked.length).toBe(3 * parts);
      expect(openFiles()).toEqual([]);
    },
  );

  test('that was abandoned is computed again', async () => {
    const { exports, asked } = createTestExports({ parts: 4 });
    await (await readStream(await exports.export('CORE', CSV))).cancel();
    const result = asked.length;
    expect(await readText(await exports.export('CORE', CSV))).toBe('part 0;part 1;part 2;part 3;');
    expect(asked.length).toBe(result + 4);
  });

  test('with a failing part is aborted and closes its files', async () => {
    const { exports } = createTestExports({ parts: 4, fails: 2 });
    const stream = await readStream(await exports.export('CORE', CSV));
    await expect(new Response(stream).text()).rejects.toThrow('the thread was lost');
    expect(openFiles()).toEqual([]);
  });

  test('with a failing first part is refused before anything is sent', async () => {
    const { exports } = createTestExports({ parts: 4, fails: 0 });
    await expect((await exports.export('CORE', CSV)).open(signal)).rejects.toThrow('the thread was lost');
    expect(openFiles()).toEqual([]);
  });

  test('without its files is reported as unreadable', async () => {
    const { exports } = createTestExports({ parts: 1 });
    rmSync(join(folder, 'earlier'));
    await expect((await exports.export('CORE', CSV)).open(signal)).rejects.toMatchObject({
      code: 'DOCUMENT_UNREADABLE',
    });
    expect(openFiles()).toEqual([]);
  });

  test('beyond the number of concurrent exports is refused, until one of them ends', async () => {
    const { exports } = createTestExports({ parts: 2 });
    const firstExport = await exports.export('CORE', CSV);
    const streams = [];
    for (let i = 0; i < LIMITS.MAX_OPEN_EXPORTS; i++) streams.push(await readStream(firstExport));
    await expect(firstExport.open(signal)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await streams[0]!.cancel();
    streams.push(await readStream(firstExport));
    await Promise.all(streams.slice(1).map((stream) => stream.cancel()));
    expect(openFiles()).toEqual([]);
  });
});
