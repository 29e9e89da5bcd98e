import type { DividendPointsView } from '#contract/analytics/run-views.js';
import { VARIANT_BLOCKS } from '#domain/backtest/run-file/blocks.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText } from '#domain/base/findings.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { addMonths, formatDay, toCivilDate } from '#domain/base/time.js';
import type { DividendFraction } from '#domain/books/announced-dividends.js';
import { computeReinvestment } from '#domain/books/pro-forma.js';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import { findDatesWithin, openPanelRows, readIndexSeries, type RequestedDates } from './run-columns.js';

export interface DividendPointsInput {
  readonly window: RequestedDates;
  /** Dividends as fractions of the price, by session. */
  readonly paid: readonly DividendFraction[];
  /** Dividends with an ex-date after the last date of the run, as they were known on that date. */
  readonly toCome: readonly DividendFraction[];
}

/** Maximum number of future dividends in a response. */
const LISTED_MAX = 10_000;

/**
 * Returns past and future ordinary dividends of the holdings of a run, in points of its level.
 * @throws Refusal NO_DATA_IN_RANGE
 * @cost reads [n x H] weights on the dates before dividends
 */
export function createDividendPointsView(columns: RunColumns, input: DividendPointsInput): DividendPointsView {
  const days = columns.i32('days');
  const last = days.length - 1;
  const { from, to } = findDatesWithin(days, input.window);
  const level = readLevels(columns);
  const isStored = columns.has('dividendPoints') && isOfIndex(columns);
  const points = isStored ? listStoredPoints(columns) : sumPointsByDate(columns, level, input.paid);
  const shownPositions = [...points.keys()].filter((position) => position >= from && position <= to);
  const getPointsAt = (position: number): DividendPoints => points.get(position)!;
  const years = new Map<number, DividendPoints>();
  for (const position of shownPositions) {
    const { year } = toCivilDate(days[position]!);
    years.set(year, sumPoints([years.get(year) ?? NO_POINTS, getPointsAt(position)]));
  }
  const yearBefore = addMonths(days[last]!, -12);
  const trailingPoints = sumPoints(
    [...points.keys()].filter((position) => days[position]! > yearBefore).map(getPointsAt),
  );
  const comingRows = createComingRows(columns, level[last]!, input.toCome);
  const comingPoints = sumPoints(comingRows);
  return {
    index_id: columns.header.run_id,
    variant: columns.header.variant,
    withholding_tax: getTax(columns),
    as_of: formatDay(days[last]!),
    level: level[last]!,
    dates: shownPositions.map((position) => formatDay(days[position]!)),
    points: shownPositions.map((position) => getPointsAt(position).points),
    net_points: shownPositions.map((position) => getPointsAt(position).net_points),
    years: [...years].map(([year, sum]) => ({ year, ...sum })),
    trailing: { ...trailingPoints, yield: trailingPoints.points / level[last]! },
    announced: {
      dividends: comingRows.slice(0, LISTED_MAX),
      dividends_total: comingRows.length,
      ...comingPoints,
      yield: comingPoints.points / level[last]!,
    },
  };
}

/** Dividends in index points, before and after the withholding tax of a net return index. */
type DividendPoints = Pick<DividendPointsView['trailing'], 'points' | 'net_points'>;
const NO_POINTS: DividendPoints = { points: 0, net_points: 0 };

function sumPoints(dailyPoints: readonly DividendPoints[]): DividendPoints {
  return dailyPoints.reduce(
    (sum, pointsOfDay) => ({
      points: sum.points + pointsOfDay.points,
      net_points: sum.net_points + pointsOfDay.net_points,
    }),
    NO_POINTS,
  );
}

function createPoints(
  points: number,
  dividend: { readonly weight: number; readonly withheld: number },
): DividendPoints {
  return { points, net_points: points * computeReinvestment('net', dividend) };
}

function getTax({ header: { treatment } }: RunColumns): TreatmentSpec['withholding_tax'] {
  return treatment.withholding_tax ?? TreatmentSpec.parse({}).withholding_tax;
}

/**
 * Returns the level on which the weights are based, on the dates of the run. For an index, this is the level in points,
 * or the price return level if all variants share their index shares. For a strategy, it is the level rebased to 100.
 */
export function readLevels(columns: RunColumns): Float64Array {
  if (!isOfIndex(columns)) return columns.f64('level');
  const { variant } = columns.header;
  return readIndexSeries(columns, columns.has('dividendPoints') ? 'levelPrice' : VARIANT_BLOCKS[variant].level);
}

function isOfIndex({ header: { has_index_weights: hasOwn, run_id: runId, index_id: indexId } }: RunColumns): boolean {
  return hasOwn || runId === indexId;
}

function listStoredPoints(columns: RunColumns): Map<number, DividendPoints> {
  const points = readIndexSeries(columns, 'dividendPoints');
  const net = readIndexSeries(columns, 'netDividendPoints');
  const positions = [...points.keys()].filter(
    (position) => position > 0 && (points[position] !== 0 || net[position] !== 0),
  );
  return new Map(positions.map((position) => [position, { points: points[position]!, net_points: net[position]! }]));
}

/** Computes the dividend points by position of the date, in ascending order. */
function sumPointsByDate(
  columns: RunColumns,
  level: Float64Array,
  paidDividends: readonly DividendFraction[],
): Map<number, DividendPoints> {
  const { names, has_index_weights: hasOwn } = columns.header;
  const days = columns.i32('days');
  const columnByName = new Map(names.map((name, position) => [name, position]));
  const weights = openPanelRows(columns, hasOwn ? 'indexWeights' : 'weights', { from: 0, to: days.length - 1 });
  const points = new Map<number, DividendPoints>();
  for (const { identifier, day, fraction, withheld } of paidDividends) {
    const session = findFirstAtLeast(days, day);
    const column = columnByName.get(identifier);
    if (session === 0 || session === days.length || days[session] !== day || column === undefined) continue;
    const weight = weights.at(session - 1)[column]!;
    if (weight === 0) continue;
    points.set(
      session,
      sumPoints([
        points.get(session) ?? NO_POINTS,
        createPoints(weight * level[session - 1]! * fraction, { weight, withheld }),
      ]),
    );
  }
  return points;
}

type ComingRow = DividendPointsView['announced']['dividends'][number];

function createComingRows(
  columns: RunColumns,
  level: number,
  comingDividends: readonly DividendFraction[],
): ComingRow[] {
  const { names, has_index_weights: hasOwn } = columns.header;
  const last = columns.i32('days').length - 1;
  const weights = columns.f64(hasOwn ? 'indexWeights' : 'weights', last * names.length, (last + 1) * names.length);
  const weightByName = new Map(names.map((name, position) => [name, weights[position]!]));
  const rows = comingDividends.flatMap(
    ({ identifier, exDay, dividend, fraction, withheld, status, announcedDay }): ComingRow[] => {
      const weight = weightByName.get(identifier) ?? 0;
      if (weight === 0) return [];
      return [
        {
          ex_date: formatDay(exDay),
          identifier,
          dividend,
          ...createPoints(weight * level * fraction, { weight, withheld }),
          status,
          announced: announcedDay === null ? null : formatDay(announcedDay),
        },
      ];
    },
  );
  return rows.toSorted((a, b) => compareText(a.ex_date, b.ex_date) || compareText(a.identifier, b.identifier));
}
