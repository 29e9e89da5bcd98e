import type { EXPOSURE_INTERVALS, ExposuresView } from '#contract/analytics/exposures.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { civilOf, formatDay, type Day } from '#domain/days.js';
import { groupsByDay, type GroupOfDay } from './groups-by-day.js';
import { panelRows } from './panel-rows.js';
import { datesWithin, type AskedWindow } from './run-window.js';

export interface ExposuresInput {
  readonly window: AskedWindow;
  readonly by: string;
  /** Most groups listed. */
  readonly groups: number;
  readonly interval: (typeof EXPOSURE_INTERVALS)[number];
  readonly groupOf: GroupOfDay;
}

/** The groups that are not listed one by one. */
const OTHERS = 'OTHERS';

/**
 * Held weights by group on dates of a stored run.
 * @throws Refusal NO_DATA_IN_RANGE
 * @cost reads [n x H] weights twice: for the averages that order the groups, and for those that are reported
 */
export function exposuresView(columns: RunColumns, input: ExposuresInput): ExposuresView {
  const { header } = columns;
  const days = columns.i32('days');
  const shown = reportedDates(days, input);
  const block = header.has_index_weights ? 'indexWeights' : 'weights';
  const span = { from: shown[0]!, to: shown.at(-1)! };
  const eachDate = (visit: (weights: Float64Array, k: number) => void) => {
    const rows = panelRows(columns, block, span);
    shown.forEach((at, k) => visit(rows.at(at), k));
  };
  const placed = () => groupsByDay(header.names, input.groupOf);

  const averages = new Map<string, number>();
  const first = placed();
  eachDate((weights, k) => {
    const groups = first(days[shown[k]!]!);
    weights.forEach((weight, i) => {
      if (weight !== 0) averages.set(groups[i]!, (averages.get(groups[i]!) ?? 0) + weight / shown.length);
    });
  });
  const ordered = [...averages].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1)).map(([group]) => group);
  const shownGroups = ordered.length > input.groups ? [...ordered.slice(0, input.groups), OTHERS] : ordered;
  const placeOf = new Map(shownGroups.map((group, g) => [group, g]));

  const sums = shownGroups.map(() => new Float64Array(shown.length));
  const herfindahl = new Float64Array(shown.length);
  const largest = new Float64Array(shown.length);
  const second = placed();
  eachDate((weights, k) => {
    const groups = second(days[shown[k]!]!);
    weights.forEach((weight, i) => {
      if (weight === 0) return;
      sums[placeOf.get(groups[i]!) ?? shownGroups.length - 1]![k]! += weight;
      herfindahl[k]! += weight * weight;
      largest[k] = Math.max(largest[k]!, Math.abs(weight));
    });
  });
  return {
    index_id: header.run_id,
    by: input.by,
    dates: shown.map((at) => formatDay(days[at]!)),
    groups: shownGroups.map((group, g) => ({ group, weights: [...sums[g]!] })),
    concentration: {
      herfindahl: [...herfindahl],
      effective: Array.from(herfindahl, (value) => (value === 0 ? 0 : 1 / value)),
      largest: [...largest],
    },
  };
}

/** Positions of the dates that are reported. */
function reportedDates(days: Int32Array, { window, interval }: ExposuresInput): readonly number[] {
  const { from, to } = datesWithin(days, window);
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
