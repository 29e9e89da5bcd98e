import type { ExportPosition } from '#domain/exports/formats.js';
import type { ExportPart } from '#jobs/tasks/outputs.js';

/** Size in bytes of the buffer for one part. It is twice the intended size of a part. */
const BUFFER_BYTES = 2 ** 21;

/** Maximum number of buffers that are kept for later exports. This is enough for two exports at a time. */
const BUFFERS_KEPT = 4;

/** Size in bytes of the buffer if the reader provides none. */
const CHUNK_BYTES = 256 * 1024;

/** Maximum size in bytes of an export that is cached for later requests. */
const BYTES_COLLECTED_MAX = 4 * 2 ** 20;

/**
 * Pool of buffers into which parts are written. To fill 2 MiB with zeros for each request would be the largest cost of
 * a small table.
 */
export interface BufferPool {
  take(): SharedArrayBuffer;
  /** Returns buffers that no thread writes to any more. */
  give(buffers: Iterable<SharedArrayBuffer>): void;
}

export function createBufferPool(): BufferPool {
  const keptBuffers: SharedArrayBuffer[] = [];
  return {
    take: () => keptBuffers.pop() ?? new SharedArrayBuffer(BUFFER_BYTES),
    give(buffers) {
      for (const buffer of buffers) if (keptBuffers.length < BUFFERS_KEPT) keptBuffers.push(buffer);
    },
  };
}

/** Part with the buffer that contains it. */
export interface BufferedPart extends ExportPart {
  readonly buffer: SharedArrayBuffer;
}

interface PartSource {
  part(from: ExportPosition, buffer: SharedArrayBuffer): Promise<BufferedPart>;
  readonly buffers: BufferPool;
  /**
   * Receives all bytes after the last one was read, or null if there were too many. The member is null if the export is
   * known to be too large.
   */
  readonly whole: ((bytes: Uint8Array<ArrayBuffer> | null) => void) | null;
  /** Called once, when the stream has ended or was cancelled. */
  close(): Promise<void>;
}

/**
 * Creates a stream of parts. While one part is sent, the next part is produced. No further part is produced until that
 * part is read.
 */
export function createExportStream(
  firstPart: BufferedPart,
  { part, buffers, whole, close }: PartSource,
): ReadableStream<Uint8Array> {
  const readFollowing = ({ next }: BufferedPart, buffer: SharedArrayBuffer): Promise<BufferedPart> | null => {
    const result = next && part(next, buffer);
    result?.catch(() => undefined); // The reader of the stream receives the error.
    return result;
  };
  let bufferedPart = firstPart;
  const other = firstPart.next === null ? null : buffers.take();
  let nextRead = other && readFollowing(firstPart, other);
  /** Number of bytes of the present part that were sent. */
  let sentBytes = 0;
  const collector = createCollector(whole === null ? 0 : BYTES_COLLECTED_MAX);
  let endPromise: Promise<void> | undefined;
  /** Closes the files once no thread reads them. */
  const endStream = (): Promise<void> => (endPromise ??= (nextRead ?? Promise.resolve()).then(close, close));

  /** Moves to a part that has bytes left. Returns false after the last part. */
  async function advance(): Promise<boolean> {
    while (sentBytes === bufferedPart.length + bufferedPart.rest.length) {
      collector.add(bufferedPart);
      if (nextRead === null) return false;
      const { buffer } = bufferedPart;
      bufferedPart = await nextRead;
      sentBytes = 0;
      nextRead = readFollowing(bufferedPart, buffer);
    }
    return true;
  }

  /** Copies bytes of the current part to the reader's buffer, as many as fit. */
  function fill(target: Uint8Array): number {
    const { buffer, length, rest } = bufferedPart;
    const source =
      sentBytes < length ? new Uint8Array(buffer, sentBytes, length - sentBytes) : rest.subarray(sentBytes - length);
    const count = Math.min(target.length, source.length);
    target.set(source.subarray(0, count));
    sentBytes += count;
    return count;
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      try {
        const request = controller.byobRequest!; // Memory is allocated for readers that provide no buffer.
        if (await advance()) {
          const { buffer, byteOffset, byteLength } = request.view!;
          request.respond(fill(new Uint8Array(buffer, byteOffset, byteLength)));
          return;
        }
        await endStream();
        whole?.(collector.all());
        // Buffers of an aborted export are not returned, because a thread may still write to them.
        buffers.give(other === null ? [firstPart.buffer] : [firstPart.buffer, other]);
        controller.close();
        request.respond(0);
      } catch (failure) {
        await endStream();
        throw failure;
      }
    },
    cancel: endStream,
  });
}

/** Returns the bytes of a part in a separate buffer. */
export function getBytes({ buffer, length, rest }: BufferedPart): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length + rest.length);
  bytes.set(new Uint8Array(buffer, 0, length));
  bytes.set(rest, length);
  return bytes;
}

/** Creates an object that collects the bytes of parts up to a maximum size. */
function createCollector(bytesMax: number) {
  let chunks: Uint8Array[] | null = [];
  let length = 0;
  return {
    add(part: BufferedPart): void {
      length += part.length + part.rest.length;
      if (length > bytesMax) chunks = null;
      chunks?.push(getBytes(part));
    },
    /** Returns all bytes; null if there were too many. */
    all(): Uint8Array<ArrayBuffer> | null {
      return chunks && new Uint8Array(Buffer.concat(chunks));
    },
  };
}
