import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { isWithin, measureDate, type BreachCause, type MeasuredDate } from '#domain/compliance/monitor.js';
import { LIMIT_RULES, type LimitRuleName } from '#domain/compliance/rules.js';
import { createUncached, type DatedFigures, type FigureCache } from '../exposures/dated-figures.js';
import { yieldWatchedDates, type WatchedDates } from './watched-dates.js';

/** Figures of a rule on the dates of a run. */
interface RuleFigures {
  readonly rule: LimitRuleName;
  /** Value and cause of each row, [2 x rows x dates]. The cause is set only if the value exceeds the bound. */
  readonly values: DatedFigures;
  /**
   * Security that is nearest to a breach, and the price move that leads to it, [2 x dates]. Not set if a bound is
   * already exceeded or no move leads to a breach.
   */
  readonly distances: DatedFigures;
}

export interface RuleSpan {
  /**
   * Returns the issuers of the securities. Must be called once for each day, in ascending order. Null if each security
   * is its own issuer.
   */
  readonly issuersOn: WatchedDates['issuersOn'];
  /** Column that identifies issuers. */
  readonly by: string;
  /** Position of the first date for which a distance is requested, if any. */
  readonly from: number;
  /** Position of the last date. */
  readonly to: number;
  readonly withDistances: boolean;
  /** Cache for figures, if there is memory. */
  readonly keep?: FigureCache | undefined;
  /** Called before a date is measured. */
  readonly onDate?: (() => void) | undefined;
}

const CAUSES = ['price', 'action', 'rebalance'] as const satisfies readonly BreachCause[];
const NO_NAME = -1;

/**
 * Measures published rules on the dates of a run. The figures of a date do not depend on the window.
 * @cost one pass over the weights for all rules; none if all figures are cached
 */
export function measureRules(
  columns: RunColumns,
  rules: readonly LimitRuleName[],
  span: RuleSpan,
): Iterable<MeasuredDate>[] {
  const ruleFigures = rules.map((rule) => createFigures(columns.i32('days').length, rule, span));
  if (ruleFigures.some((figures) => isIncomplete(figures, span))) completeFigures(columns, ruleFigures, span);
  return ruleFigures.map((figures) => listDates(figures, span.to));
}

function createFigures(dates: number, rule: LimitRuleName, { by, keep = createUncached }: RuleSpan): RuleFigures {
  const { rows } = LIMIT_RULES[rule];
  return {
    rule,
    values: keep(['limits', rule, by], { width: 2 * rows.length, dates }),
    distances: keep(['distance to limits', rule, by], { width: 2, dates }),
  };
}

function isIncomplete({ values, distances }: RuleFigures, { from, to, withDistances }: RuleSpan): boolean {
  return (
    values.known.subarray(0, to + 1).includes(0) ||
    (withDistances && distances.known.subarray(from, to + 1).includes(0))
  );
}

/** Computes the figures that are missing. */
function completeFigures(columns: RunColumns, ruleFigures: readonly RuleFigures[], span: RuleSpan): void {
  const { issuersOn, from, to, withDistances, onDate = () => {} } = span;
  for (const date of yieldWatchedDates(columns, to, { issuersOn, rowsOn: () => [] })) {
    const { at } = date;
    onDate();
    for (const { rule, values, distances } of ruleFigures) {
      const lacksDistance = withDistances && at >= from && distances.known[at] === 0;
      if (values.known[at] === 1 && !lacksDistance) continue;
      const measuredDate = measureDate({ ...date, rows: LIMIT_RULES[rule].rows });
      const isBreached = fillValues(values, measuredDate);
      if (lacksDistance) fillDistance(distances, at, isBreached ? null : measuredDate.distance());
    }
  }
}

/**
 * Stores the measured values of a date.
 * @returns true if a row exceeds its bound
 */
function fillValues({ values, known }: DatedFigures, measuredDate: MeasuredDate): boolean {
  const { at, rows } = measuredDate;
  let isBreached = false;
  for (const [k, row] of rows.entries()) {
    const value = measuredDate.valueOf(k);
    const offset = 2 * k * known.length + at;
    values[offset] = value;
    if (isWithin(row, value)) continue;
    isBreached = true;
    values[offset + known.length] = CAUSES.indexOf(measuredDate.causeOf(k));
  }
  known[at] = 1;
  return isBreached;
}

function fillDistance(
  { values, known }: DatedFigures,
  position: number,
  distance: ReturnType<MeasuredDate['distance']>,
): void {
  values[position] = distance?.name ?? NO_NAME;
  values[known.length + position] = distance?.move ?? Number.NaN;
  known[position] = 1;
}

function* listDates({ rule, values, distances }: RuleFigures, to: number): Iterable<MeasuredDate> {
  const { rows } = LIMIT_RULES[rule];
  const { length } = values.known;
  for (let position = 0; position <= to; position++)
    yield {
      at: position,
      rows,
      valueOf: (k) => values.values[2 * k * length + position]!,
      causeOf: (k) => CAUSES[values.values[(2 * k + 1) * length + position]!]!,
      distance() {
        const name = distances.values[position]!;
        return name === NO_NAME ? null : { name, move: distances.values[length + position]! };
      },
    };
}
