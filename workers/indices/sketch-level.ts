import { listBookDays, simulateIndexBook } from '#domain/books/index-run.js';
import { computeRollingVolatility } from '#domain/analytics/rolling.js';
import { estimatePeriodsPerYear } from '#domain/calendars/periods-per-year.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { formatDay, parseValidDay } from '#domain/time/days.js';
import type { Task } from '#jobs/tasks.js';
import { createQuestionComposer } from '../input/index-composer.js';
import { runOnEngine } from '../input/numerics.js';
import { openCachedMarket } from '../input/open-markets.js';

/** Number of returns from which a volatility is computed. */
const WINDOW_SESSIONS = 60;

/**
 * Computes the level of an index that is not stored, with its volatility and exposure. The level is computed at a
 * number of sessions from its base to the last day.
 */
export const sketchLevel: Task<'sketch-level'> = (
  { market: handle, documents, models, indexId, points, until },
  control,
) =>
  runOnEngine((engine) => {
    const market = openCachedMarket(handle);
    const end = until === undefined ? (market.dates.at(-1) ?? 0) : parseValidDay(until);
    const compositions = createQuestionComposer(
      { market, documents, models, until: end, engine },
      control,
    ).compositions(indexId);
    const book = simulateIndexBook({ compositions, to: findLastAtMost(compositions.sm.sessions, end) });
    const days = listBookDays(book);
    const last = days.length - 1;
    const count = Math.min(points, days.length);
    const shownSessions = Array.from({ length: count }, (_, k) =>
      count === 1 ? last : Math.round((k * last) / (count - 1)),
    );
    const returns = book.value.subarray(1).map((level, t) => level / book.value[t]! - 1);
    const periods = estimatePeriodsPerYear(compositions.sm.calendar.sessions);
    const volatilities = computeRollingVolatility(returns, WINDOW_SESSIONS, periods);
    const explain = book.overlay?.explain;
    return {
      dates: shownSessions.map((t) => formatDay(days[t]!)),
      levels: shownSessions.map((t) => book.value[t]!),
      volatilities: shownSessions.map((t) => volatilities[t - WINDOW_SESSIONS] ?? null),
      constituents: compositions.overlay === undefined ? (compositions.list.at(-1)?.columns.length ?? null) : null,
      exposures: explain === undefined ? null : shownSessions.map((t) => explain(t).exposure),
    };
  });
