import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Headers } from './answer-headers.js';

/** Buffer size of one response: 20 MB take 80 reads, and 1,000 slow readers fit in memory. */
const BUFFER_BYTES = 256 * 1024;

/** Response with a streamed body. */
export interface StreamedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly stream: ReadableStream<Uint8Array>;
}

/**
 * Sends a stream. A byte stream uses one buffer, which is refilled after the operating system has accepted all of it:
 * separate chunks would accumulate up to the 32 MiB of buffers at which V8 collects garbage.
 */
export async function sendStream(
  { status, headers, stream }: StreamedResponse,
  outgoing: ServerResponse,
): Promise<void> {
  const { next, cancel, isOfBytes } = createReader(stream);
  const closeEvent = once(outgoing, 'close')
    .then(cancel)
    .catch(() => undefined); // the next read reports the failure
  try {
    outgoing.writeHead(status, headers);
    // Events may take long to arrive, so the headers are sent first.
    if (!isOfBytes) outgoing.flushHeaders();
    for (;;) {
      const part = await next();
      if (outgoing.closed) return;
      if (part === undefined) break;
      await Promise.race([writePart(outgoing, part), closeEvent]); // the write of bytes to a closed connection never completes
      if (outgoing.closed) return;
    }
    outgoing.end();
  } catch (failure) {
    outgoing.destroy(failure instanceof Error ? failure : undefined);
  }
}

interface StreamReader {
  readonly isOfBytes: boolean;
  /** Returns the next bytes, valid until the following call; undefined at the end. */
  next(): Promise<Uint8Array | undefined>;
  cancel(): Promise<void>;
}

function createReader(stream: ReadableStream<Uint8Array>): StreamReader {
  const byteReader = openByobReader(stream);
  if (byteReader === undefined) {
    const reader = stream.getReader();
    return { isOfBytes: false, next: async () => (await reader.read()).value, cancel: () => reader.cancel() };
  }
  let buffer = new ArrayBuffer(BUFFER_BYTES);
  return {
    isOfBytes: true,
    async next() {
      const { done, value } = await byteReader.read(new Uint8Array(buffer));
      if (done) return undefined;
      buffer = value.buffer;
      return value;
    },
    cancel: () => byteReader.cancel(),
  };
}

function writePart(outgoing: ServerResponse, part: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    outgoing.write(part, (failure) => (failure ? reject(failure) : resolve()));
  });
}

function openByobReader(stream: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return stream.getReader({ mode: 'byob' });
  } catch {
    return undefined; // the only way to detect a byte stream
  }
}
