import { createHash } from 'node:crypto';
import { LIMITS } from '#domain/refusals/limits.js';
import type { RowBlock, RowsInBlocks } from '#jobs/rows-in-blocks.js';
import { createJsonWriter } from '#views/json-writer.js';

/** Writes rows as JSON text in consecutive blocks. @param row returns the row at a position */
export function writeRowsInBlocks(
  count: number,
  row: (position: number) => unknown,
): { readonly bytes: Uint8Array; readonly index: Omit<RowsInBlocks, 'artifact'> } {
  const blocks: RowBlock[] = [];
  const encodedTexts: Uint8Array[] = [];
  for (let from = 0; from < count; from += LIMITS.MAX_BLOCK_ROWS) {
    const json = createJsonWriter();
    for (let i = from; i < Math.min(count, from + LIMITS.MAX_BLOCK_ROWS); i++) {
      if (i > from) json.raw(',');
      json.value(row(i));
    }
    const bytes = json.bytes();
    encodedTexts.push(bytes);
    blocks.push({ bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') });
  }
  return { bytes: Buffer.concat(encodedTexts), index: { count, blocks } };
}
