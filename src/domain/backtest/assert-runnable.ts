import { assertSingleHolding } from '../books/overlay-portfolio.js';
import { assertSeriesBenchmark } from '../books/series-benchmark.js';
import { checkRequestedRange } from '../books/window.js';
import type { Calendars } from '../calendars/calendar.js';
import { checkOnMarket } from '../checks/index-on-market.js';
import { findLateRates } from '../checks/late-rates.js';
import type { BacktestPlan, ResolvedRequest } from '../documents/backtest-plan.js';
import { reportMissingReturns } from '../documents/optimisation-spec.js';
import { isOverlayDocument, listSources, type IndexDocument } from '../documents/index-document.js';
import type { MarketData } from '../market/market-data.js';
import { checkConstraintFields } from '../optimisation/field-uses.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '../refusals/refusal.js';
import { describeUnknownField } from '../refusals/unknown-field.js';
import { parseValidDay, type Day } from '../time/days.js';

/**
 * Checks a plan against the market before the run and refuses a plan that cannot run.
 * @throws Refusal VALIDATION_FAILED, BENCHMARK_NOT_FOUND, CALENDAR_NOT_COVERED, NO_DATA_IN_RANGE, RANGE_TOO_SHORT,
 *   FX_MISSING, NUMERIC_FAILURE
 */
export function assertRunnable(
  plan: BacktestPlan,
  { market, calendars }: { readonly market: MarketData; readonly calendars: Calendars },
): void {
  const { indexId, documents, request, strategy } = plan;
  const document = documents[indexId]!;
  if (isOverlayDocument(document)) assertSingleHolding(plan);
  const calendar = calendars.get(document.calendar);
  if (!calendar)
    throw refuseWithFindings('index document', [
      {
        severity: 'error',
        code: 'UNKNOWN_CALENDAR',
        message: `The calendar ${document.calendar} is unknown.`,
        path: 'calendar',
      },
    ]);
  for (const reachedDocument of Object.values(documents))
    assertNoErrors(`index document ${reachedDocument.id}`, [
      ...checkOnMarket(reachedDocument, market, { severity: 'error', indexOf: (id) => documents[id] }),
      ...findLateRates(reachedDocument.id, { documents, market, calendars }),
    ]);
  if (strategy?.constraints)
    assertNoErrors('constraint set', [
      ...reportMissingReturns({}, strategy.constraints, ''),
      ...checkConstraintFields(strategy.constraints, market, { path: 'constraints', severity: 'error' }),
    ]);
  assertIdentifierBenchmark(market, request);
  const range = checkRequestedRange({ document, calendar, dates: market.dates, request });
  const series = request.benchmark?.kind === 'identifier' ? market.series?.get(request.benchmark.id) : undefined;
  if (series === undefined) return;
  const start = Math.max(range.start, findEarliestStart(document, documents));
  assertSeriesBenchmark(series, document, { market, calendar, range: { start, end: range.end } });
}

/** Returns the earliest day on which an index can begin: an overlay begins no earlier than its underlying indices. */
function findEarliestStart(document: IndexDocument, documents: BacktestPlan['documents']): Day {
  const underlyingIds = isOverlayDocument(document) ? listSources(document) : [];
  return Math.max(
    parseValidDay(document.base_date),
    ...underlyingIds.map((id) => findEarliestStart(documents[id]!, documents)),
  );
}

function assertIdentifierBenchmark(market: MarketData, { benchmark }: ResolvedRequest): void {
  if (benchmark?.kind !== 'identifier') return;
  const { id, price_column: column } = benchmark;
  const isSeries = market.series?.has(id) === true;
  if (!isSeries && !market.identifiers.includes(id))
    throw new Refusal('BENCHMARK_NOT_FOUND', `The data contains no identifier ${id}.`, { benchmark: id });
  const acceptedColumns = isSeries ? ['CLOSE'] : [...market.fields.keys()];
  if (acceptedColumns.includes(column)) return;
  const holderName = isSeries ? `series ${id}` : `data store ${market.datasetId}`;
  const sentence = `The ${holderName} has no column ${column}; it has ${acceptedColumns.join(', ')}.`;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      path: 'benchmark.price_column',
      ...describeUnknownField(sentence, { name: column, accepted: acceptedColumns }),
    },
  ]);
}
