import { createHash } from 'node:crypto';
import { shareMarket } from '#domain/market/handle.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Task } from '#jobs/tasks.js';
import { digestContent } from '#market/content/content.js';
import { differenceOf } from '#market/versions/cell-differences.js';
import { changeCounts } from '#market/versions/change-counts.js';
import { contentChange, encodeChange } from '#market/versions/content-change.js';
import { earlierContent } from '#market/versions/earlier-content.js';
import { dataDifferenceView } from '#views/data-difference-view.js';
import { changeIn, damagedContent } from './known-contents.js';
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
  const content = earlierContent(base, changes.map(changeIn));
  const { hash, digests } = await digestContent(content);
  if (hash !== contentHash) throw damagedContent(`its content is ${hash}, not ${contentHash}`);
  const { datasetId, adjustment, currency = null } = base;
  const market: MarketData = { ...content, datasetId, adjustment, currency, contentHash };
  keepOpen(market);
  return { handle: { ...shareMarket(market), digests } };
};

/** Values that two contents have otherwise. */
export const dataDifference: Task<'data-difference'> = async ({ before, after, from, to, limit }) => {
  const view = { from, to, ...differenceOf(openedMarket(before), openedMarket(after), limit) };
  return { bytes: new TextEncoder().encode(JSON.stringify(dataDifferenceView(view))) };
};
