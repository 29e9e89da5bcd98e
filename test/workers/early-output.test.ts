import { existsSync, readdirSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runWithEarlyOutput } from '#workers/output/task-outputs.js';
import { writeOutputs, type WrittenOutputs } from './task-outputs.js';

let writtenOutputs: WrittenOutputs;
beforeEach(async () => {
  writtenOutputs = await writeOutputs();
});
afterEach(() => writtenOutputs.remove());

const listFiles = ({ destination }: WrittenOutputs): string[] =>
  destination.kind === 'folder' && existsSync(destination.folder) ? readdirSync(destination.folder) : [];
const createBytes = (size: number, value: number): Uint8Array<ArrayBuffer> => new Uint8Array(size).fill(value);

test.each([
  ['as they were begun', true, 1000],
  ['others than were begun', false, 1000],
  ['large ones', true, 5 * 2 ** 20],
])('the output has the bytes at the end: %s', async (_, isSame, size) => {
  const outputs = writtenOutputs.outputs('matrix');
  const begunBytes = createBytes(size, 1);
  const lastBytes = isSame ? begunBytes : createBytes(size, 2);
  const ref = await runWithEarlyOutput(outputs, 'matrix', async (output) => {
    output.begin(begunBytes);
    return output.end(lastBytes);
  });
  expect(ref.name).toBe(outputs.names.matrix);
  expect(Buffer.compare(writtenOutputs.read(ref), lastBytes)).toBe(0);
  expect(listFiles(writtenOutputs)).toEqual([ref.name]);
});

test('an output that was not begun early is written at the end', async () => {
  const ref = await runWithEarlyOutput(writtenOutputs.outputs('matrix'), 'matrix', (output) =>
    output.end(createBytes(10, 3)),
  );
  expect([...writtenOutputs.read(ref)]).toEqual([...createBytes(10, 3)]);
});

test('nothing remains of a task that fails after it began', async () => {
  const failingRun = runWithEarlyOutput(writtenOutputs.outputs('matrix'), 'matrix', async (output) => {
    output.begin(createBytes(10, 4));
    throw new Error('stopped');
  });
  await expect(failingRun).rejects.toThrow('stopped');
  expect(listFiles(writtenOutputs)).toEqual([]);
});
