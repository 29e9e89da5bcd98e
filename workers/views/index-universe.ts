import { listClosures } from '#domain/calendars/closures.js';
import { createComposer } from '#domain/books/create-composer.js';
import { createIndexDeciders } from '#domain/backtest/index-decider.js';
import type { Day } from '#domain/time/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import type { ComparedWith } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { openCachedCalendars } from '../input/opened-calendars.js';
import { openModels } from '../input/opened-models.js';

export interface UniverseInput extends ComparedWith {
  /** Served market, on which the index is defined. */
  readonly market: MarketData;
  /** Market to whose columns the result refers. It contains every security of the served market. */
  readonly sm: SessionMarket;
  readonly until: Day;
}

/**
 * Function that returns the columns of an index's universe on a day, ascending. While the columns do not change, it
 * returns the same array.
 */
export type UniverseFinder = (day: Day) => Int32Array;

/**
 * Creates a function that returns the universe of an index. @cost of running the indices of the universe, once; O(N)
 * per day
 */
export function createUniverseFunction(
  engine: Engine,
  { indexId, documents, models, market, sm, until }: UniverseInput,
): UniverseFinder {
  const composer = createComposer({
    market,
    calendars: openCachedCalendars(listClosures(documents)),
    documents,
    models: openModels(models),
    until,
    createDecider: createIndexDeciders(engine),
  });
  const { sessions, identifiers } = composer.market(indexId);
  const hasAllSecurities = market.identifiers.length === sm.securityCount;
  let latestColumns: Int32Array = new Int32Array(0);
  return (day) => {
    const columnsOfIndex = composer.universe(indexId, Math.max(0, findLastAtMost(sessions, day)));
    const columns = hasAllSecurities
      ? columnsOfIndex
      : columnsOfIndex.map((column) => sm.columnOf(identifiers[column]!)).toSorted();
    if (latestColumns.length !== columns.length || columns.some((column, i) => column !== latestColumns[i]))
      latestColumns = columns;
    return latestColumns;
  };
}
