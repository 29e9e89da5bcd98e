import { openMarket, shareMarket, type MarketHandle } from '#domain/market/handle.js';
import type { Task } from '#jobs/tasks.js';
import { digestContent, type KnownDigests, type MarketContent } from '#market/content.js';
import { warnOfMarket } from '#market/market-warnings.js';
import { createProblems } from '#market/problems.js';
import { refreshContent } from '#market/refresh-content.js';
import { openedMarket } from './open-markets.js';

/** The next version of a store: what is held with what its source has now, and what that changed. */
export const refreshMarket: Task<'refresh-market'> = async ({ held, fresh, options }, control) => {
  const before = openedMarket(held);
  const { content, report } = refreshContent(before, openMarket(fresh), options);
  control.report(0.5, 'checking');
  const problems = createProblems();
  warnOfMarket(content, problems);
  const { hash, digests } = await digestContent(content, knownDigests(held, fresh, { before, content, isAdded: !options.full }));
  const handle = shareMarket({ ...content, storeId: held.storeId, adjustment: held.adjustment, contentHash: hash });
  return { handle: { ...handle, digests }, report, identifiers: content.identifiers.length, warnings: problems.findings() };
};

/** What needs no hashing: the days that were held, while no name and no field has come or gone, and the tables of the source. */
function knownDigests(held: MarketHandle, fresh: MarketHandle, { before, content, isAdded }: { readonly before: MarketContent; readonly content: MarketContent; readonly isAdded: boolean }): KnownDigests {
  const isSameAxis = before.identifiers.length === content.identifiers.length && before.identifiers.every((identifier, n) => identifier === content.identifiers[n]);
  const isSameFields = before.fields.size === content.fields.size && [...before.fields.keys()].every((name) => content.fields.has(name));
  const isPrefix = isAdded && before.dates.length <= content.dates.length && before.dates.every((day, t) => day === content.dates[t]);
  return {
    ...(held.digests !== undefined && isSameAxis && isSameFields && isPrefix ? { blocks: { digests: held.digests.blocks, days: before.dates.length } } : {}),
    ...(fresh.digests === undefined ? {} : { tables: fresh.digests.tables }),
  };
}
