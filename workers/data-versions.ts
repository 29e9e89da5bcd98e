import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { shareMarket } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/refusal.js';
import type { Task } from '#jobs/tasks.js';
import type { HashedFile } from '#jobs/tasks/files.js';
import { digestContent } from '#market/content/content.js';
import { differenceOf } from '#market/versions/cell-differences.js';
import { changeCounts } from '#market/versions/change-counts.js';
import { contentChange, decodeChange, encodeChange, type ContentChange } from '#market/versions/content-change.js';
import { earlierContent } from '#market/versions/earlier-content.js';
import { dataDifferenceView } from '#views/data-difference-view.js';
import { keepOpen, openedMarket } from './open-markets.js';

/** How a content is made from the one that came after it. */
export const changeOfContent: Task<'content-change'> = async (input) => {
  const [before, after] = [openedMarket(input.before), openedMarket(input.after)];
  const change = contentChange(before, after);
  const bytes = new Uint8Array(encodeChange(change));
  return {
    bytes,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    rows: changeCounts(change, { before, after }),
  };
};

/** An earlier content of a data store, which has the hash that it had. */
export const earlierMarket: Task<'earlier-market'> = async ({ last, changes, contentHash }) => {
  const base = openedMarket(last);
  const content = earlierContent(base, await Promise.all(changes.map(readChange)));
  const { hash, digests } = await digestContent(content);
  if (hash !== contentHash) throw damaged(`its content is ${hash}, not ${contentHash}`);
  const { datasetId, adjustment, currency = null } = base;
  const market: MarketData = { ...content, datasetId, adjustment, currency, contentHash };
  keepOpen(market);
  return { handle: { ...shareMarket(market), digests } };
};

async function readChange({ path, sha256 }: HashedFile): Promise<ContentChange> {
  const bytes = await readFile(path).catch(() => undefined); // Gone, as a file that is damaged.
  if (bytes === undefined || createHash('sha256').update(bytes).digest('hex') !== sha256)
    throw damaged('a file of its changes is missing or damaged');
  return decodeChange(bytes);
}

function damaged(reason: string): Refusal {
  return new Refusal('DOCUMENT_UNREADABLE', `The earlier content of the data store cannot be read: ${reason}.`);
}

/** Values that two contents have otherwise. */
export const dataDifference: Task<'data-difference'> = async ({ before, after, from, to, limit }) => {
  const view = { from, to, ...differenceOf(openedMarket(before), openedMarket(after), limit) };
  return { bytes: new TextEncoder().encode(JSON.stringify(dataDifferenceView(view))) };
};
