import { createHash } from 'node:crypto';
import type { RunState } from '#domain/backtest/plan.js';

/** Bytes before and after the bytes of a stream. */
export interface Frame {
  readonly before: Uint8Array;
  /** Number of bytes at the start of the stream that are left out. */
  readonly skipped?: number;
  readonly after?: Uint8Array;
}

/** Size in bytes of the buffer if the reader provides none. */
const CHUNK_BYTES = 256 * 1024;

const NO_BYTES = new Uint8Array(0);

/**
 * Returns a stream with bytes before and after it. The bytes are written directly into the reader's buffer.
 * @param innerStream byte stream of a file or blob
 */
export function frameStream(
  innerStream: ReadableStream<Uint8Array>,
  { before, skipped = 0, after = NO_BYTES }: Frame,
): ReadableStream<Uint8Array> {
  const reader = innerStream.getReader({ mode: 'byob' });
  let sentBytes = 0;
  let skippableBytes = skipped;
  let hasEnded = false;

  function endIn(controller: ReadableByteStreamController, buffer: Uint8Array<ArrayBuffer>): void {
    const from = sentBytes - before.length;
    const part = after.subarray(from, from + buffer.length);
    buffer.set(part);
    sentBytes += part.length;
    const isLast = from + part.length === after.length;
    if (isLast && part.length === 0) controller.close();
    controller.byobRequest!.respondWithNewView(buffer.subarray(0, part.length));
    if (isLast && part.length > 0) controller.close();
  }

  return new ReadableStream({
    type: 'bytes',
    autoAllocateChunkSize: CHUNK_BYTES,
    async pull(controller) {
      const request = controller.byobRequest!; // Memory is allocated for readers that provide no buffer.
      const { buffer, byteOffset, byteLength } = request.view! as Uint8Array<ArrayBuffer>;
      const remainder = new Uint8Array(buffer, byteOffset, byteLength);
      if (sentBytes < before.length) {
        const part = before.subarray(sentBytes, sentBytes + byteLength);
        remainder.set(part);
        sentBytes += part.length;
        request.respond(part.length);
        return;
      }
      if (hasEnded) return endIn(controller, remainder);
      while (skippableBytes > 0)
        skippableBytes -= (await reader.read(new Uint8Array(skippableBytes))).value?.length || skippableBytes;
      const { done, value } = await reader.read(remainder);
      if (value === undefined) return; // the stream was cancelled meanwhile
      hasEnded = done;
      if (done) endIn(controller, new Uint8Array(value.buffer, byteOffset, byteLength));
      else request.respondWithNewView(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

export interface StoredBytes {
  readonly length: number;
  readonly etag: string;
  open(): Promise<ReadableStream<Uint8Array>>;
}

/** Stored bytes with a verified content. */
export interface CheckedBytes {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** Bytes of one run, which a request may have named only by its index. */
export type RunBytes = CheckedBytes & {
  readonly runId: string;
  /** SHA-256 of the view without the state of its run, if the view has other inputs than the run. */
  readonly contentHash?: string;
};

/** Reader of the record of a run. The record is written when it is requested. */
export interface RunRecordReader {
  readonly etag: string;
  readonly runId: string;
  /** Returns the record. @throws Refusal DOCUMENT_UNREADABLE if the files of the run are damaged */
  read(): Promise<StoredBytes>;
}

/** Start of a view of a run, with the state of the run. The state is computed for each response and not stored. */
export interface StateHead {
  readonly bytes: Uint8Array;
  /** Returns the etag of a view with this start. While the run is up to date, it equals the etag of the view. */
  toEtag(etag: string): string;
}

export function createStateHead(state: RunState): StateHead {
  const { stale } = state;
  const bytes = new TextEncoder().encode(`${JSON.stringify(state).slice(0, -1)},`);
  if (stale === null) return { bytes, toEtag: (etag) => etag };
  const mark = createHash('sha256').update(bytes).digest('hex').slice(0, MARK_DIGITS);
  return { bytes, toEtag: (etag) => `${etag}${PLACEHOLDER}${mark}` };
}

const PLACEHOLDER = '.';
const MARK_DIGITS = 16;

/** Removes the state of a run from an etag. The result is the etag of the stored bytes. */
export function removeMarks(etag: string): string {
  return etag.split(PLACEHOLDER)[0]!;
}

/** Puts the state of a run at the start of a JSON object. The object must not be empty; its first brace is replaced. */
export function prependHead({ bytes: head }: Pick<StateHead, 'bytes'>, object: Uint8Array): Uint8Array<ArrayBuffer> {
  const combined = new Uint8Array(head.length + object.length - 1);
  combined.set(head);
  combined.set(object.subarray(1), head.length);
  return combined;
}

/**
 * Puts the state of a run at the start of a JSON object that is streamed without its opening brace.
 * @param object byte stream of a file or blob
 */
export const streamWithHead = (
  { bytes: head }: StateHead,
  object: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> => frameStream(object, { before: head, skipped: 1 });

/** Puts the state of a run at the start of stored JSON. */
export function prependHeadToStored(head: StateHead, { length, etag, open }: StoredBytes): StoredBytes {
  return {
    length: head.bytes.length + length - 1,
    etag: head.toEtag(etag),
    open: async () => streamWithHead(head, await open()),
  };
}
