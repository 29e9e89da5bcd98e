import type { EXPOSURE_INTERVALS, ExposuresView } from '#contract/analytics/exposures.js';
import type { Book } from '#domain/backtest/simulate/book.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { civilOf, formatDay, type Day } from '#domain/days.js';
import type { GroupOfDay } from '#domain/market/groups-by-day.js';
import { panelRows } from '../panel-rows.js';
import { datesWithin, type AskedWindow, type Span } from '../run-window.js';
import { activeShares, concentrations } from './concentration-series.js';
import { fieldSeries, type FieldReader, type FieldSeries } from './field-series.js';
import { bookSide, runSide } from './sides.js';
import { weightsByGroup } from './weights-by-group.js';

export interface ExposuresInput {
  readonly window: AskedWindow;
  readonly by: string;
  /** Most groups listed. */
  readonly groups: number;
  readonly interval: (typeof EXPOSURE_INTERVALS)[number];
  readonly groupOf: GroupOfDay;
  /** What is compared with, null without it. */
  readonly benchmark: { readonly id: string; readonly book: Book } | null;
  /** Datapoints that are averaged, for the names of the run and of the benchmark. */
  readonly fields: FieldReader;
}

/**
 * Held weights by group, and datapoints weighted by them, on dates of a stored run.
 * @throws Refusal NO_DATA_IN_RANGE; NO_COMMON_DATES where the benchmark lacks a date
 * @cost reads [n x H] weights four times: for the averages that order the groups, for those that are reported, for
 *       concentration, and for the datapoints
 */
export function exposuresView(columns: RunColumns, input: ExposuresInput): ExposuresView {
  const { header } = columns;
  const all = columns.i32('days');
  const span = datesWithin(all, input.window);
  const shown = reportedDates(all, span, input.interval);
  const days = shown.map((at) => all[at]!);
  const own = runSide(columns, shown);
  const benchmark = input.benchmark && bookSide(input.benchmark.book, days);
  const groups = weightsByGroup(own, benchmark, { days, groups: input.groups, groupOf: input.groupOf });
  const series = fieldSeries(input.fields, { own, benchmark }, days);
  const { herfindahl, effective, largest } = concentrations(own, days.length);
  return {
    index_id: header.run_id,
    by: input.by,
    benchmark: input.benchmark?.id ?? null,
    dates: days.map(formatDay),
    groups: groups.map(({ group, weights, benchmark: other }) => ({
      group,
      weights: [...weights],
      benchmark_weights: other && [...other],
    })),
    fields: input.fields.fields.map((field, f) => ({
      field,
      ...fieldBody(series.own[f]!),
      benchmark: series.benchmark && fieldBody(series.benchmark[f]!),
    })),
    concentration: { herfindahl: [...herfindahl], effective: [...effective], largest: [...largest] },
    active_share: benchmark && [...activeShares(own, benchmark, days.length)],
    turnover: [...turnovers(columns, { shown, from: span.from })],
  };
}

function fieldBody({ mean, coverage, percentiles: { p10, p25, p50, p75, p90 } }: FieldSeries) {
  const percentiles = {
    p10: known(p10),
    p25: known(p25),
    p50: known(p50),
    p75: known(p75),
    p90: known(p90),
  };
  return { mean: known(mean), coverage: [...coverage], percentiles };
}

const known = (values: Float64Array): (number | null)[] =>
  Array.from(values, (value) => (Number.isNaN(value) ? null : value));

/** Positions of the dates that are reported. */
function reportedDates(days: Int32Array, { from, to }: Span, interval: ExposuresInput['interval']): readonly number[] {
  const all = Array.from({ length: to - from + 1 }, (_, k) => from + k);
  return all.filter((at) => at === to || spanOf(days[at]!, interval) !== spanOf(days[at + 1]!, interval));
}

/** A number that days of one week or month have in common. */
function spanOf(day: Day, interval: ExposuresInput['interval']): number {
  if (interval === 'native') return day;
  // 1970-01-01, day 0, was a Thursday.
  if (interval === 'weekly') return Math.floor((day + 3) / 7);
  const { year, month } = civilOf(day);
  return 12 * year + month;
}

interface Shown {
  /** Positions of the dates that are reported. */
  readonly shown: readonly number[];
  /** First date of the window. */
  readonly from: number;
}

/** One-way turnover of the portfolio's trades since the date before; its first purchase is none. */
function turnovers(columns: RunColumns, { shown, from }: Shown): Float64Array {
  const eventAt = columns.i32('eventAt');
  const before = panelRows(columns, 'before', { from: 0, to: eventAt.length - 1 });
  const after = panelRows(columns, 'weights', { from, to: shown.at(-1)! });
  const turnover = new Float64Array(shown.length);
  let k = 0;
  eventAt.forEach((at, event) => {
    if (at < from || at === 0 || at > shown.at(-1)!) return;
    while (shown[k]! < at) k++;
    const [was, is] = [before.at(event), after.at(at)];
    let moved = 0;
    for (let i = 0; i < is.length; i++) moved += Math.abs(is[i]! - was[i]!);
    turnover[k]! += moved / 2;
  });
  return turnover;
}
