import { createHash } from 'node:crypto';
import { compareText } from '#domain/base/findings.js';
import type { Panels } from './panels.js';

/** Number of days per block that is hashed. An append to a store changes only the last block. */
export const BLOCK_DAYS = 64;

export const DIGEST_BYTES = 32;

export interface CachedBlockDigests {
  readonly digests: Uint8Array;
  readonly days: number;
}

/** Digests of blocks of the panels with these fields, by block number. */
export interface ComputedBlocks {
  readonly fields: Panels['fields'];
  readonly digests: ReadonlyMap<number, Uint8Array>;
}

/**
 * Returns a function that computes the SHA-256 of a block. It hashes the days of the block, then its values, field by
 * field in the order of their names.
 */
export function createBlockDigests({ identifiers, dates, fields }: Panels): (block: number) => Uint8Array {
  const assets = identifiers.length;
  const panels = [...fields.keys()].toSorted(compareText).map((name) => fields.get(name)!);
  return (block) => {
    const from = block * BLOCK_DAYS;
    const to = Math.min(from + BLOCK_DAYS, dates.length);
    return computeBlockDigest(
      dates.subarray(from, to),
      panels.map((panel) => panel.subarray(from * assets, to * assets)),
    );
  };
}

/**
 * Computes the digest of one block. @param values values of its fields in the order of their names, [days x assets]
 * each
 */
export function computeBlockDigest(days: Int32Array, values: readonly Float64Array[]): Uint8Array {
  const hash = createHash('sha256').update(days);
  for (const cells of values) hash.update(cells);
  return hash.digest();
}

/**
 * Returns a table from days, counted from the first day, to rows. A look-up in this table replaces a search for every
 * cell.
 */
export function createDayPositions(dates: Int32Array): Int32Array {
  const positions = new Int32Array(dates.length === 0 ? 0 : dates.at(-1)! - dates[0]! + 1).fill(-1);
  for (let t = 0; t < dates.length; t++) positions[dates[t]! - dates[0]!] = t;
  return positions;
}
