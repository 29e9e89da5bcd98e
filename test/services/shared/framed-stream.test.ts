import { Buffer } from 'node:buffer';
import { expect, test } from 'vitest';
import { frameStream } from '#services/shared/stamped-json.js';
import { createByteStream, readInto } from './byte-streams.js';

const BYTES = Uint8Array.from({ length: 1000 }, (_, i) => i % 251);
const FRAME = { before: Buffer.from('before'), after: Buffer.from('behind') };

test.each([
  [1, 1],
  [1, 7],
  [3, 2],
  [64, 1000],
  [1000, 5],
  [5000, 262_144],
])('bytes in pieces of %i are inside those of a frame, read into a buffer of %i', async (piece, room) => {
  const wholeBytes = Buffer.concat([FRAME.before, BYTES, FRAME.after]);
  expect(await readInto(frameStream(createByteStream(BYTES, piece), FRAME), room)).toEqual(wholeBytes);
  const read = await new Response(
    frameStream(createByteStream(BYTES, piece, { autoAllocateChunkSize: 10 }), FRAME),
  ).arrayBuffer();
  expect(Buffer.from(read)).toEqual(wholeBytes);
});

test('leading bytes are omitted, and a stream may be empty', async () => {
  const skippingStream = frameStream(createByteStream(BYTES, 2), { before: FRAME.before, skipped: 5 });
  expect(await readInto(skippingStream, 100)).toEqual(Buffer.concat([FRAME.before, BYTES.subarray(5)]));
  const framedStream = frameStream(createByteStream(new Uint8Array(0), 1), { ...FRAME, skipped: 3 });
  expect((await readInto(framedStream, 4)).toString('utf8')).toBe('beforebehind');
  expect(
    await readInto(frameStream(createByteStream(new Uint8Array(0), 1), { before: new Uint8Array(0) }), 4),
  ).toHaveLength(0);
});

test('an error of the inner stream fails the whole stream, before the bytes after it', async () => {
  let isFirst = true;
  const brokenStream = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      if (!isFirst) return controller.error(new Error('the disk is gone'));
      isFirst = false;
      controller.enqueue(new Uint8Array(3));
    },
  }) as ReadableStream<Uint8Array>;
  await expect(readInto(frameStream(brokenStream, FRAME), 100)).rejects.toThrow('the disk is gone');
});
