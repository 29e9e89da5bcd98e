import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { createJsonSinkWriter, createJsonWriter, type JsonWriter } from '#views/json/writer.js';
import { writeTextFile } from '#workers/output/task-outputs.js';

const folder = mkdtempSync(join(tmpdir(), 'divisor-text-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes text that is much longer than one window and contains a repeated part. */
function writeMuch(json: JsonWriter): void {
  json.raw('[[');
  const from = json.mark();
  json.numbers(Float64Array.from({ length: 60_000 }, (_, i) => Math.sin(i)));
  const to = json.mark();
  json.raw('],[');
  json.repeat(from, to);
  json.raw('],"\u00e9"]');
}

test('a file has the bytes that are created in memory, and is reported with its length and hash', () => {
  const path = join(folder, 'much');
  const writing = writeTextFile(path, (sink) => {
    const json = createJsonSinkWriter(sink);
    writeMuch(json);
    json.end();
  });
  const memory = createJsonWriter();
  writeMuch(memory);
  const expected = memory.bytes();
  expect(Buffer.compare(readFileSync(path), expected)).toBe(0);
  expect(writing).toEqual({ bytes: expected.length, sha256: createHash('sha256').update(expected).digest('hex') });
});

test('a file that could not be written completely does not exist', () => {
  const path = join(folder, 'half');
  const writeBrokenText = (): unknown =>
    writeTextFile(path, (sink) => {
      sink.append(new Uint8Array(100));
      throw new Error('no more');
    });
  expect(writeBrokenText).toThrow('no more');
  expect(existsSync(path)).toBe(false);
});

test('a full disk is reported as full, and nothing remains on it', () => {
  const path = join(folder, 'full');
  const writeBrokenText = (): unknown =>
    writeTextFile(path, (sink) => {
      sink.append(new Uint8Array(100));
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    });
  expect(writeBrokenText).toThrow(expect.objectContaining({ code: 'STORAGE_FULL' }));
  expect(existsSync(path)).toBe(false);
});
