import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { compareText } from '#domain/refusals/findings.js';
import type { ContentDigests } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { encodeCanonicalTables } from './canonical-tables.js';
import { countRowsByTable, type TableKind, type RowsByTable } from '../tables/table-kinds.js';
import {
  BLOCK_DAYS,
  createBlockDigests,
  DIGEST_BYTES,
  type CachedBlockDigests,
  type ComputedBlocks,
} from '../panels/day-blocks.js';
import { computeHistoryDigests } from './history.js';
import type { ContentTables, MarketContent } from './market-content.js';

/** Version of the canonical form; a new version changes every content hash. */
const FORMAT = 2;

/** Known digests of parts of a content. */
export interface CachedDigests {
  /** Digests of the blocks of the first days, taken from a content with the same identifiers and fields. */
  readonly blocks?: CachedBlockDigests;
  /** Digests that were computed while the content was read. Valid only if the panels are the same objects. */
  readonly computedBlocks?: ComputedBlocks | undefined;
  /** Digest of identical tables. */
  readonly tables?: Uint8Array;
  /**
   * Digests of identical tables for the blocks of the first days, taken from a content that begins with the same days.
   */
  readonly history?: CachedBlockDigests;
}

/**
 * Returns the SHA-256 (hexadecimal) of the canonical content. It changes if any value changes. It does not depend on
 * the format, the order of rows and columns, or the number of files.
 */
export async function computeContentHash(content: MarketContent): Promise<string> {
  return (await digestContent(content)).hash;
}

/**
 * Computes the content hash from the digests of blocks of days and of the tables, and returns these digests.
 * @param cachedDigests digests to reuse from other contents.
 * @cost one pass over the panels of the remaining days, about 1.5 GB/s; other work of the thread runs between blocks.
 */
export async function digestContent(
  content: MarketContent,
  cachedDigests: CachedDigests = {},
): Promise<{ readonly hash: string; readonly digests: ContentDigests }> {
  const { identifiers, dates, fields } = content;
  const names = [...fields.keys()].toSorted(compareText);
  const digestBlock = createBlockDigests(content);
  const result = cachedDigests.computedBlocks?.fields === fields ? cachedDigests.computedBlocks.digests : undefined;
  const blocks = new Uint8Array(Math.ceil(dates.length / BLOCK_DAYS) * DIGEST_BYTES);
  const wholeBlocks = cachedDigests.blocks === undefined ? 0 : Math.floor(cachedDigests.blocks.days / BLOCK_DAYS); // the last block may have gained days
  if (cachedDigests.blocks !== undefined)
    blocks.set(cachedDigests.blocks.digests.subarray(0, wholeBlocks * DIGEST_BYTES));
  const blockBytes = BLOCK_DAYS * identifiers.length * names.length * Float64Array.BYTES_PER_ELEMENT;
  let hashedDays = 0;
  for (let block = wholeBlocks; block * DIGEST_BYTES < blocks.length; block++) {
    const digest = result?.get(block);
    blocks.set(digest ?? digestBlock(block), block * DIGEST_BYTES);
    if (digest === undefined) hashedDays += blockBytes;
    if (hashedDays < RESTING_BYTES) continue;
    hashedDays = 0;
    await setImmediate();
  }
  const tables = cachedDigests.tables ?? computeTablesDigest(content);
  const hash = createHash('sha256')
    .update(toCanonicalJson({ format: FORMAT, days: dates.length, identifiers, fields: names }))
    .update(blocks)
    .update(tables)
    .digest('hex');
  return { hash, digests: { blocks, tables, history: computeHistoryDigests(content, cachedDigests.history) } };
}

/** Computes the digest of the tables. A store without series keeps the digest of versions that had no series. */
function computeTablesDigest({ reference, actions, universes, series }: ContentTables): Uint8Array {
  const hash = createHash('sha256').update(encodeCanonicalTables({ reference, actions, universes }));
  for (const { identifier, currency, name, days, closes } of series?.values() ?? [])
    hash
      .update(toCanonicalJson({ currency, identifier, name, values: days.length }))
      .update(days)
      .update(closes);
  return hash.digest();
}

/** Number of bytes that are hashed before the thread turns to other work. Hashing them takes some ten milliseconds. */
const RESTING_BYTES = 16 << 20;

/** Counts the rows of a content by table. @cost one pass over CLOSE */
export function countTableRows({ fields, reference, actions, universes, series }: MarketContent): RowsByTable {
  const panels = [...fields.values()];
  const isUnchanged = (cell: number) => panels.some((panel) => panel[cell] === panel[cell]);
  const cells = fields.get('CLOSE')!.length;
  let marketRows = 0;
  for (let cell = 0; cell < cells; cell++) if (isUnchanged(cell)) marketRows += 1;
  const rows: Record<TableKind, number> = {
    market: marketRows,
    reference: [...reference.rows.values()].reduce((sum, spells) => sum + spells.length, 0),
    corporate_actions: actions.length,
    universes: universes.length,
    series: [...(series?.values() ?? [])].reduce((sum, { days }) => sum + days.length, 0),
  };
  return countRowsByTable((table) => rows[table]);
}

/** Returns the days of the first and the last bar; null for an empty store. */
export function findDateRange({
  dates,
}: Pick<MarketData, 'dates'>): { readonly start: number; readonly end: number } | null {
  return dates.length === 0 ? null : { start: dates[0]!, end: dates.at(-1)! };
}
