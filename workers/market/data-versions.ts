import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { trimMemory } from '#kernels/memory/paged-memory.js';
import { type MarketHandle, shareMarket } from '#domain/market/market-handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { HashedBytes } from '#jobs/tasks/messages.js';
import { digestContent } from '#market/content/content-hash.js';
import type { MarketContent } from '#market/content/market-content.js';
import { changeCounts, computeDifference } from '#market/content/changes.js';
import { decodeContent, encodeChange, encodeContent } from '#market/content/content-copy.js';
import { computeContentChange, restoreContent } from '#market/content/versions.js';
import { createDataDifferenceView } from '#views/data-difference.js';
import { keepOpen, openCachedMarket, readBytes, readChange, refuseDamagedContent } from '../input/markets.js';

/**
 * Computes the change that leads from a content back to an earlier one. Also computes the opposite change if it is
 * requested.
 */
export const writeContentChange: Task<'content-change'> = async (input) => {
  const [before, after] = [openCachedMarket(input.before), openCachedMarket(input.after)];
  return {
    back: addHash(encodeChange(computeContentChange(before, after))),
    forth: input.isBothWays ? addHash(encodeChange(computeContentChange(after, before))) : null,
    rows: changeCounts(before, after),
  };
};

function addHash(encoded: Uint8Array): HashedBytes {
  const bytes = new Uint8Array(encoded);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** Appends the next part of a complete content to a file. */
export const writeContentCopy: Task<'content-copy'> = async ({ market, from, path }) => {
  const { piece, next } = encodeContent(openCachedMarket(market), from);
  const file = openSync(path, 'a', 0o600);
  try {
    for (const bytes of piece)
      for (let position = 0; position < bytes.length;) position += writeSync(file, bytes, position);
  } finally {
    closeSync(file);
  }
  trimMemory(); // returns the memory of earlier parts to the system
  return { next };
};

/** Restores a content from a copy and later changes, and verifies its hash. */
export const copyMarket: Task<'copied-market'> = async ({ content, changes, contentHash, ...header }) => {
  const storedCopy = decodeContent(readBytes(content));
  return openVerifiedMarket(
    changes.length === 0 ? storedCopy : restoreContent(storedCopy, changes.map(readChange)),
    header,
    contentHash,
  );
};

/** Restores an earlier content of a data store, and verifies its hash. */
export const rebuildEarlierMarket: Task<'earlier-market'> = async ({ last, changes, contentHash }) => {
  const base = openCachedMarket(last);
  return openVerifiedMarket(restoreContent(base, changes.map(readChange)), base, contentHash);
};

/** Opens a content after verifying its hash. @throws Refusal DOCUMENT_UNREADABLE if the hash differs */
async function openVerifiedMarket(
  content: MarketContent,
  { datasetId, adjustment, currency = null }: Pick<MarketData, 'datasetId' | 'adjustment' | 'currency'>,
  contentHash: string,
): Promise<{ readonly handle: MarketHandle }> {
  const { hash, digests } = await digestContent(content);
  if (hash !== contentHash) throw refuseDamagedContent(`its content is ${hash}, not ${contentHash}`);
  const market: MarketData = { ...content, datasetId, adjustment, currency, contentHash };
  keepOpen(market);
  return { handle: { ...shareMarket(market), digests } };
}

/** Lists values that differ between two contents. */
export const computeDataDifference: Task<'data-difference'> = async ({ before, after, from, to, ...terms }) => {
  const view = { from, to, ...computeDifference(openCachedMarket(before), openCachedMarket(after), terms) };
  return { bytes: new TextEncoder().encode(JSON.stringify(createDataDifferenceView(view))) };
};
