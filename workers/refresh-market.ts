import { shareMarket } from '#domain/market/handle.js';
import type { Task } from '#jobs/tasks.js';
import { contentHash } from '#market/content.js';
import { warnOfMarket } from '#market/market-warnings.js';
import { createProblems } from '#market/problems.js';
import { refreshContent } from '#market/refresh-content.js';
import { openedMarket } from './open-markets.js';

/** The next version of a store: what is held with what its source has now, and what that changed. */
export const refreshMarket: Task<'refresh-market'> = async ({ held, fresh, options }, control) => {
  const before = openedMarket(held);
  const { content, report } = refreshContent(before, openedMarket(fresh), options);
  control.report(0.5, 'checking');
  const problems = createProblems();
  warnOfMarket(content, problems);
  const hash = await contentHash(content);
  const handle = shareMarket({ ...content, storeId: held.storeId, adjustment: held.adjustment, contentHash: hash });
  return { handle, report, identifiers: content.identifiers.length, warnings: problems.findings() };
};
