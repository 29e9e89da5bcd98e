import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { streamLogLines } from '#views/formats/text.js';
import { sendStream } from '#http/answers.js';

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  if (server !== undefined) await new Promise((closed) => server?.close(closed));
});

/**
 * Returns a stream of bytes. It is endless or has the given length. It fills a buffer of any size that its reader
 * passes. No two chunks are equal.
 */
function createBytes({
  length = Infinity,
  failsAt = Infinity,
}: {
  readonly length?: number;
  readonly failsAt?: number;
}) {
  const sizes = new Set<number>();
  const seenEvents = { given: 0, cancelled: 0, hash: createHash('sha256'), rooms: sizes };
  const stream = new ReadableStream({
    type: 'bytes',
    pull(controller) {
      if (seenEvents.given >= failsAt) return controller.error(new Error('cannot be read further'));
      const { buffer, byteLength } = controller.byobRequest!.view!;
      sizes.add(buffer.byteLength);
      const part = new Uint8Array(buffer, 0, Math.min(byteLength, length - seenEvents.given)).fill(
        seenEvents.given % 251,
      );
      seenEvents.given += part.length;
      seenEvents.hash.update(part);
      controller.byobRequest!.respond(part.length);
      if (seenEvents.given >= length) controller.close();
    },
    cancel: () => void seenEvents.cancelled++,
  });
  return { seen: seenEvents, stream };
}

/** Serves the stream as the response to every request. */
async function serve(stream: ReadableStream<Uint8Array>): Promise<IncomingMessage> {
  server = createServer(
    (_request, outgoing) =>
      void sendStream({ status: 200, headers: { 'Content-Type': 'application/octet-stream' }, stream }, outgoing),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const [answer] = (await once(
    get({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }),
    'response',
  )) as [IncomingMessage];
  return answer;
}

test('a byte stream arrives complete through one buffer, however slowly it is read', async () => {
  const { seen, stream } = createBytes({ length: 3_000_001 });
  const answer = await serve(stream);
  const arrivedHash = createHash('sha256');
  let count = 0;
  for await (const part of answer as AsyncIterable<Buffer>) {
    arrivedHash.update(part);
    count += part.length;
    await new Promise((next) => setImmediate(next));
  }
  expect(count).toBe(3_000_001);
  expect(arrivedHash.digest('hex')).toBe(seen.hash.digest('hex'));
  expect(seen.rooms.size).toBe(1);
});

test('an empty byte stream is an empty answer', async () => {
  const answer = await serve(new ReadableStream({ type: 'bytes', start: (controller) => controller.close() }));
  expect(await answer.toArray()).toEqual([]);
});

test('a stream stops reading while its reader does not read', async () => {
  const { seen, stream } = createBytes({});
  const answer = await serve(stream);
  await once(answer, 'readable');
  const TURNS = 1000;
  for (let turn = 0, before = -1; turn < TURNS; turn++) {
    await new Promise((next) => setImmediate(next));
    if (seen.given !== before) turn = 0;
    before = seen.given;
  }
  expect(seen.given).toBeLessThan(16 * 2 ** 20); // capacity of the socket buffers
  answer.destroy();
});

test('a stream is cancelled when its client leaves', async () => {
  const { seen, stream } = createBytes({});
  const answer = await serve(stream);
  await once(answer, 'readable');
  answer.destroy();
  while (seen.cancelled === 0) await new Promise((next) => setImmediate(next));
  expect(seen.cancelled).toBe(1);
});

test('a stream that fails aborts the answer', async () => {
  const answer = await serve(createBytes({ failsAt: 600_000 }).stream);
  await expect(answer.toArray()).rejects.toThrow('aborted');
});

test('another stream starts its answer at once and is sent as it arrives', async () => {
  let give = (_part: Uint8Array | undefined): void => {};
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      give = (part) => (part === undefined ? controller.close() : controller.enqueue(part));
    },
  });
  const answer = await serve(stream); // resolves after the headers, before any content is read
  for (const text of ['one', 'two']) {
    give(new TextEncoder().encode(text));
    const [part] = (await once(answer, 'data')) as [Buffer];
    expect(part.toString()).toBe(text);
  }
  give(undefined);
  await once(answer, 'end');
});

async function* listBatches(failure?: Error): AsyncGenerator<readonly object[]> {
  yield [{ seq: 1 }];
  yield []; // no entry matches
  if (failure !== undefined) throw failure;
  yield [{ seq: 2 }];
}

test('a log is truncated where it becomes unreadable, and never ends like a complete one', async () => {
  expect(Buffer.concat(await (await serve(streamLogLines(listBatches()))).toArray()).toString()).toBe(
    '{"seq":1}\n{"seq":2}\n',
  );
  server!.close();
  const answer = await serve(streamLogLines(listBatches(new Error('lost'))));
  const parts: Buffer[] = [];
  answer.on('data', (part: Buffer) => parts.push(part));
  await expect(once(answer, 'end')).rejects.toThrow('aborted');
  expect(Buffer.concat(parts).toString()).toBe('{"seq":1}\n');
});
