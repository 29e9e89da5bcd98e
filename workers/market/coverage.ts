import { formatDay } from '#domain/time/days.js';
import type { Task } from '#jobs/tasks.js';
import { countCoverage } from '#market/serving/coverage-history.js';
import { measureFieldCoverage } from '#market/serving/field-coverage.js';
import { createJsonWriter } from '#views/json-writer.js';
import { answerBytes } from '../output/hand-over.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Computes the coverage of a market through time: a CoverageHistoryResponse as JSON. */
export const measureCoverage: Task<'coverage'> = ({ market: handle }) => {
  const market = openCachedMarket(handle);
  const { priced, expected, gaps, incomplete } = countCoverage(market);
  const formatDate = (t: number) => formatDay(market.dates[t]!); // positions of a coverage are positions of dates
  const json = createJsonWriter(256 + market.dates.length * 28 + gaps.length * GAP_BYTES);
  json.value({
    store_id: market.datasetId,
    dates: Array.from(market.dates, (day) => formatDay(day)),
    priced: [...priced],
    expected: [...expected],
    gaps: gaps.map(({ identifier, start, end, missing, longest, first, last, sessions }) => ({
      identifier,
      start: formatDate(start),
      end: formatDate(end),
      missing,
      longest,
      first_missing: formatDate(first),
      last_missing: formatDate(last),
      dates: sessions.map(formatDate),
    })),
    gaps_total: incomplete,
    fields: measureFieldCoverage(market).map(({ start, end, securitiesAtEnd, ...field }) => ({
      ...field,
      securities_at_end: securitiesAtEnd,
      start: start === null ? null : formatDay(start),
      end: end === null ? null : formatDay(end),
    })),
  });
  return answerBytes(json.bytes());
};

/** Approximate size of the gaps of a security in JSON. The writer grows if it is too small. */
const GAP_BYTES = 200;
