import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Headers } from './answer-headers.js';

/** Room of one answer: large enough that 20 MB take 80 reads, small enough for 1,000 slow readers. */
const ROOM_BYTES = 256 * 1024;

/** An answer whose body comes bit by bit. */
export interface StreamedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly stream: ReadableStream<Uint8Array>;
}

/**
 * Sends a stream. One of bytes goes through one piece of memory, read into again when all in it has gone to the system:
 * chunks of their own would collect, up to the 32 MiB of buffers after which V8 looks for those nobody holds.
 */
export async function sendStream({ status, headers, stream }: StreamedAnswer, outgoing: ServerResponse): Promise<void> {
  const { next, cancel, isOfBytes } = readerOf(stream);
  const closed = once(outgoing, 'close')
    .then(cancel)
    .catch(() => undefined); // Reading tells what failed.
  try {
    outgoing.writeHead(status, headers);
    // Events may be long in coming: who waits for them sees that they will.
    if (!isOfBytes) outgoing.flushHeaders();
    for (;;) {
      const part = await next();
      if (outgoing.closed) return;
      if (part === undefined) break;
      await Promise.race([written(outgoing, part), closed]); // Bytes that can no longer be sent are never reported as written.
      if (outgoing.closed) return;
    }
    outgoing.end();
  } catch (failure) {
    outgoing.destroy(failure instanceof Error ? failure : undefined);
  }
}

interface StreamReader {
  readonly isOfBytes: boolean;
  /** The next bytes, valid until those after them are asked for; undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function readerOf(stream: ReadableStream<Uint8Array>): StreamReader {
  const byteReader = byobReader(stream);
  if (byteReader === undefined) {
    const reader = stream.getReader();
    return { isOfBytes: false, next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
  let room = new ArrayBuffer(ROOM_BYTES);
  return {
    isOfBytes: true,
    async next() {
      const { done, value } = await byteReader.read(new Uint8Array(room));
      if (done) return undefined;
      room = value.buffer;
      return value;
    },
    cancel: () => byteReader.cancel(),
  };
}

function written(outgoing: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(part, (failure) => (failure ? reject(failure) : resolve()));
  });
}

function byobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return undefined; // Streams do not tell otherwise whether they are of bytes.
  }
}
