import { Buffer } from 'node:buffer';
import { expect } from 'vitest';
import type { MarketContent } from '#market/content/market-content.js';
import { encodeContent } from '#market/content/content-copy.js';

/** Returns the bytes of the copy of a content. @param bytesMin minimum number of pieces */
export function createCopy(content: MarketContent, bytesMin = 1): Uint8Array {
  const pieces: Uint8Array[][] = [];
  for (let from: number | null = 0; from !== null;) {
    const { piece, next } = encodeContent(content, from);
    pieces.push([...piece]);
    from = next;
  }
  expect(pieces.length).toBeGreaterThanOrEqual(bytesMin);
  return Buffer.concat(pieces.flat());
}
