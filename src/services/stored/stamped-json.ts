import { createHash } from 'node:crypto';
import type { RunState } from '#domain/backtest/stale-reasons.js';
import { frameStream } from '../shared/framed-stream.js';
import type { StoredBytes } from './stored-bytes.js';

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
