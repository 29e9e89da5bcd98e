import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Headers } from './answer-headers.js';

/** Size in bytes of the buffer of one response. 20 MB then take 80 reads, and 1,000 slow readers fit into memory. */
const BUFFER_BYTES = 256 * 1024;

/** Response with a streamed body. */
export interface StreamedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly stream: ReadableStream<Uint8Array>;
}

/**
 * Sends a stream. A byte stream uses one buffer. It is filled again after the operating system has accepted all its
 * bytes. Separate chunks would accumulate until V8 collects garbage, at 32 MiB of buffers.
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
    // Events may come much later, so the headers are sent first.
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
  /** Returns the next bytes; undefined at the end. The bytes are valid until the next call. */
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
