import { formatDay } from '#domain/time/days.js';
import type { Task } from '#jobs/tasks.js';
import { countCoverage } from '#market/serving/coverage-history.js';
import { createJsonWriter } from '#views/json-writer.js';
import { answerBytes } from '../output/hand-over.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Computes the coverage of a market through time: a CoverageHistoryResponse as JSON. */
export const measureCoverage: Task<'coverage'> = ({ market: handle }) => {
  const market = openCachedMarket(handle);
  const { priced, expected } = countCoverage(market);
  const json = createJsonWriter(256 + market.dates.length * 28);
  json.value({
    store_id: market.datasetId,
    dates: Array.from(market.dates, (day) => formatDay(day)),
    priced: [...priced],
    expected: [...expected],
  });
  return answerBytes(json.bytes());
};
