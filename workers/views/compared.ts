import type { DatedSeries } from '#domain/analytics/relative.js';
import { createSeriesBenchmark } from '#domain/books/benchmark.js';
import type { Book } from '#domain/books/book.js';
import { listBookDays } from '#domain/books/index-run.js';
import { openMarketOn } from '#domain/books/open-market-on.js';
import { assertAboveZero } from '#domain/books/series-benchmark.js';
import { type RunHeader } from '#domain/backtest/run-file/header.js';
import { restoreTreatment } from '#domain/backtest/run-file/settings.js';
import { formatDay, type Day } from '#domain/time/days.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { parseAcceptedIndex } from '#domain/checks/validate-index.js';
import type { MarketData } from '#domain/market/market-data.js';
import { resolveTreatment } from '#domain/documents/treatment.js';
import type { MeasuredVariant } from '#domain/market/market-data.js';
import { resolveVariant } from '#domain/market/price-basis.js';
import { addSeries } from '#domain/market/with-series.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { equalWeight } from '#domain/rules/weighting/equal-weight.js';
import { findFirstAtLeast, findLastAtMost } from '#domain/numbers/search.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { runBenchmarkBook, computeBenchmarkWeights, type BenchmarkInput } from './benchmark-books.js';
import { openCachedCalendars } from '../input/opened-calendars.js';

/** Benchmark of a run on a market. */
export interface ComparedBenchmark {
  /** Id of the benchmark as requested. */
  readonly id: string;
  /** Return variant of the benchmark's levels; raw for a series. */
  readonly variant: MeasuredVariant;
  readonly currency: string;
  /** Market that contains both sides of the comparison. A series that is compared is added as a security. */
  readonly market: MarketData;
  /** Returns the benchmark's weights on a day. @throws Refusal NO_DATA_AT_DATE, and the refusals of an index run */
  weightsOn(engine: Engine, day: Day): ReadonlyMap<string, number>;
  /** Returns the benchmark as a book (its holdings by day) that reaches a day. @throws the refusals of `weightsOn` */
  bookTo(engine: Engine, day: Day): Book;
  /**
   * Returns the benchmark's levels up to at least the last of the days. The levels of an index begin at its first
   * session. The levels of an identifier are on the sessions of the run. They begin at the first of the days with a
   * value, like the benchmark of a run.
   * @throws the refusals of `weightsOn`
   */
  levelsOver(engine: Engine, days: Int32Array): DatedSeries;
}

/**
 * Opens an index, or an identifier as a single holding. The identifier is a security of the market or one of its
 * series.
 * @param header header of the run, whose calendar, currency and treatment apply to an identifier
 */
export function openCompared(
  { indexId, documents, ...used }: ComparedWith & Pick<BenchmarkInput, 'onPart'>,
  market: MarketData,
  header: RunHeader,
): ComparedBenchmark {
  if (Object.hasOwn(documents, indexId)) {
    const input = { indexId, documents, ...used, market };
    const getBookTo = (engine: Engine, day: Day): Book => runBenchmarkBook(engine, { ...input, day });
    const document = documents[indexId]!;
    const treatment = resolveTreatment(document, (id) => documents[id])!; // the documents include every document that it refers to
    return {
      id: indexId,
      variant: resolveVariant(market, treatment.dividends),
      currency: document.currency,
      market,
      weightsOn: (engine, day) => computeBenchmarkWeights(engine, { ...input, day }),
      bookTo: getBookTo,
      levelsOver(engine, days) {
        const book = getBookTo(engine, days.at(-1)!);
        return { days: listBookDays(book), values: book.value };
      },
    };
  }
  const series = market.series?.get(indexId);
  const widerMarket = series === undefined ? market : addSeries(market, series);
  return {
    id: indexId,
    variant: series === undefined ? header.variant : 'raw',
    currency: header.currency,
    market: widerMarket,
    weightsOn(_engine, day) {
      const first = findFirstBar(widerMarket, indexId);
      if (first === undefined || first > day)
        throw new Refusal(
          'NO_DATA_AT_DATE',
          `The benchmark ${indexId} has no price on or before ${formatDay(day)}; its first price is on ${first === undefined ? 'no day' : formatDay(first)}.`,
        );
      return new Map([[indexId, 1]]);
    },
    bookTo(engine, day) {
      const singleIndex = createSingleHoldingIndex(widerMarket, indexId, header);
      const calendar = openCachedCalendars(header.closures).get(header.calendar)!; // the run was computed with this calendar
      if (series !== undefined) assertAboveZero(series, calendar, { start: series.days[0] ?? day, end: day });
      return runBenchmarkBook(engine, {
        indexId: singleIndex.id,
        documents: { [singleIndex.id]: singleIndex },
        market: widerMarket,
        day,
      });
    },
    levelsOver(_engine, days) {
      const document = createSingleHoldingIndex(widerMarket, indexId, header);
      const sm = openMarketOn({ market, calendars: openCachedCalendars(header.closures), code: document.calendar });
      const from = findFirstAtLeast(sm.sessions, days[0]!);
      const to = findLastAtMost(sm.sessions, days.at(-1)!);
      const reference = { kind: 'identifier', id: indexId, price_column: 'CLOSE' } as const;
      const emptyLevels = { level: Number.NaN, first: Number.NaN };
      return createSeriesBenchmark({ sm, document, treatment: document.pipeline!.treatment }, reference, {
        from,
        to,
        begin: emptyLevels,
      }).series;
    },
  };
}

/** Returns the day of the first CLOSE of a security. Returns undefined if it has none. */
function findFirstBar({ identifiers, dates, fields }: MarketData, identifier: string): Day | undefined {
  const column = identifiers.indexOf(identifier);
  const close = fields.get('CLOSE')!;
  const row = dates.findIndex((_, t) => !Number.isNaN(close[t * identifiers.length + column]!));
  return dates[row];
}

/**
 * Creates an index of one security with the settings of a run, from its first price. @throws Refusal NO_DATA_AT_DATE
 */
function createSingleHoldingIndex(
  market: MarketData,
  identifier: string,
  { calendar: code, closures, currency, treatment, variant }: RunHeader,
): IndexDocument {
  const { sessions } = openCachedCalendars(closures).get(code)!; // the run was computed with this calendar
  const first = findFirstBar(market, identifier);
  const base = first === undefined ? undefined : sessions[findFirstAtLeast(sessions, first)];
  if (base === undefined)
    throw new Refusal('NO_DATA_AT_DATE', `The benchmark ${identifier} has no price on a session of ${code}.`);
  const id = identifier.replaceAll(/[^\w-]/g, '-');
  const body = {
    id,
    name: identifier,
    calendar: code,
    currency,
    base_date: formatDay(base),
    universe: { kind: 'list', identifiers: [identifier] },
    rebalance: { frequency: 'none' },
    pipeline: {
      weighting: { type: equalWeight.type },
      treatment: { ...restoreTreatment(treatment), dividends: variant },
    },
  };
  return parseAcceptedIndex(body)!; // the document satisfies its schema
}
