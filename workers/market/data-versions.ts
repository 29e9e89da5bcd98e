import { createHash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { trimMemory } from '#kernels/memory/paged-memory.js';
import { shareMarket, type MarketHandle } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Task } from '#jobs/tasks.js';
import type { HashedBytes } from '#jobs/tasks/files.js';
import { digestContent } from '#market/content/content.js';
import type { MarketContent } from '#market/content/market-content.js';
import { differenceOf } from '#market/versions/cell-differences.js';
import { changeCounts } from '#market/versions/change-counts.js';
import { encodeChange } from '#market/versions/change-file.js';
import { contentChange } from '#market/versions/content-change.js';
import { decodeContent, encodeContent } from '#market/versions/content-copy.js';
import { earlierContent } from '#market/versions/earlier-content.js';
import { dataDifferenceView } from '#views/data-difference-view.js';
import { bytesOf, changeIn, damagedContent } from '../input/known-contents.js';
import { keepOpen, openedMarket } from '../input/open-markets.js';

/** How a content is made from the one that came after it. */
export const changeOfContent: Task<'content-change'> = async (input) => {
  const [before, after] = [openedMarket(input.before), openedMarket(input.after)];
  return {
    back: hashed(encodeChange(contentChange(before, after))),
    forth: input.isBothWays ? hashed(encodeChange(contentChange(after, before))) : null,
    rows: changeCounts(before, after),
  };
};

function hashed(encoded: Uint8Array): HashedBytes {
  const bytes = new Uint8Array(encoded);
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** A piece of a whole content, behind those before it. */
export const copyOfContent: Task<'content-copy'> = async ({ market, from, path }) => {
  const { piece, next } = encodeContent(openedMarket(market), from);
  const file = openSync(path, 'a', 0o600);
  try {
    for (const bytes of piece) for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
  } finally {
    closeSync(file);
  }
  trimMemory(); // what pieces before left
  return { next };
};

/** The content of a copy and of the changes from it, which has the hash that it had. */
export const copiedMarket: Task<'copied-market'> = async ({ content, changes, contentHash, ...of }) => {
  const copied = decodeContent(bytesOf(content));
  return soundMarket(changes.length === 0 ? copied : earlierContent(copied, changes.map(changeIn)), of, contentHash);
};

/** An earlier content of a data store, which has the hash that it had. */
export const earlierMarket: Task<'earlier-market'> = async ({ last, changes, contentHash }) => {
  const base = openedMarket(last);
  return soundMarket(earlierContent(base, changes.map(changeIn)), base, contentHash);
};

/** @throws Refusal DOCUMENT_UNREADABLE where the content has another hash */
async function soundMarket(
  content: MarketContent,
  { datasetId, adjustment, currency = null }: Pick<MarketData, 'datasetId' | 'adjustment' | 'currency'>,
  contentHash: string,
): Promise<{ readonly handle: MarketHandle }> {
  const { hash, digests } = await digestContent(content);
  if (hash !== contentHash) throw damagedContent(`its content is ${hash}, not ${contentHash}`);
  const market: MarketData = { ...content, datasetId, adjustment, currency, contentHash };
  keepOpen(market);
  return { handle: { ...shareMarket(market), digests } };
}

/** Values that two contents have otherwise. */
export const dataDifference: Task<'data-difference'> = async ({ before, after, from, to, ...terms }) => {
  const view = { from, to, ...differenceOf(openedMarket(before), openedMarket(after), terms) };
  return { bytes: new TextEncoder().encode(JSON.stringify(dataDifferenceView(view))) };
};
