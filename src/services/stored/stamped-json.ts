import { createHash } from 'node:crypto';
import type { RunState } from '#domain/backtest/stale-reasons.js';
import { frameStream } from '../shared/framed-stream.js';
import type { StoredBytes } from './stored-bytes.js';

/** Beginning of a run view with the state of its run, which is computed when the view is answered and not stored. */
export interface StateHead {
  readonly bytes: Uint8Array;
  /** Returns the etag of a view with this head, which equals the etag of the view itself while the run is current. */
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

/** Removes the state from an etag, which leaves the etag of the stored bytes. */
export function removeMarks(etag: string): string {
  return etag.split(PLACEHOLDER)[0]!;
}

/** Replaces the first brace of a non-empty JSON object by a head. */
export function prependHead({ bytes: head }: Pick<StateHead, 'bytes'>, object: Uint8Array): Uint8Array<ArrayBuffer> {
  const combined = new Uint8Array(head.length + object.length - 1);
  combined.set(head);
  combined.set(object.subarray(1), head.length);
  return combined;
}

/**
 * Prepends the head to a streamed object without its opening brace.
 * @param object byte stream of a file or blob
 */
export const streamWithHead = (
  { bytes: head }: StateHead,
  object: ReadableStream<Uint8Array>,
): ReadableStream<Uint8Array> => frameStream(object, { before: head, skipped: 1 });

/** Prepends the state of a run to stored JSON. */
export function prependHeadToStored(head: StateHead, { length, etag, open }: StoredBytes): StoredBytes {
  return {
    length: head.bytes.length + length - 1,
    etag: head.toEtag(etag),
    open: async () => streamWithHead(head, await open()),
  };
}
