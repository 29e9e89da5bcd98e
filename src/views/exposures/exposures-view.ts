import type { EXPOSURE_INTERVALS } from '#contract/analytics/exposures.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { toCivilDate, type Day } from '#domain/time/days.js';
import type { GroupOfDay } from '#domain/market/groups-by-day.js';
import type { Engine } from '#kernels/engines/engine.js';
import { findDatesWithin, type RequestedWindow, type WindowSpan } from '../run-window.js';
import {
  createActiveShareMaker,
  CONCENTRATION,
  CONCENTRATION_WIDTH,
  createConcentrationMaker,
} from './concentration-series.js';
import {
  completeFigures,
  selectShownFigure,
  type DatedFigures,
  type FiguresMaker,
  type FigureCache,
  type ShownFigures,
} from './dated-figures.js';
import {
  FIELD_WIDTH,
  createFieldSeries,
  type FieldReader,
  type FieldSeries,
  type FieldsOfDay,
  type SideName,
  computeWeightedField,
} from './field-series.js';
import { runSide, type Holdings, type ExposureSide } from './sides.js';
import {
  createGroupsMaker,
  findListedGroups,
  createSideGroups,
  sumGroups,
  computeWeightsByGroup,
  type GroupSums,
  type GroupWeights,
} from './weights-by-group.js';

export interface ExposuresInput {
  readonly window: RequestedWindow;
  readonly by: string;
  /** Maximum number of groups in the response. */
  readonly groups: number;
  readonly interval: (typeof EXPOSURE_INTERVALS)[number];
  readonly findGroup: GroupOfDay;
  /** Benchmark; null if there is none. */
  readonly benchmark: {
    readonly id: string;
    /** Key of all inputs of the benchmark. */
    readonly key: string;
    readonly holdings: Holdings;
    /** Cache of the benchmark's own run. Null if that run has other dates or terms. */
    readonly keep: FigureCache | null;
  } | null;
  /** Reader of the averaged datapoints, for the securities of the run and the benchmark. */
  readonly fields: FieldReader;
  /** Cache of figures. */
  readonly keep: FigureCache;
  /** Engine that provides the memory for computing figures. */
  readonly engine: Engine;
  /** Called before the figures of a date are computed; throws to stop the view. */
  readonly onDate?: () => void;
}

/** Held weights by group and weighted averages of datapoints, on dates of a run. */
export interface Exposures {
  readonly indexId: string;
  readonly by: string;
  readonly benchmark: string | null;
  readonly days: Int32Array;
  readonly groups: readonly GroupWeights[];
  readonly fields: readonly {
    readonly field: string;
    readonly own: FieldSeries;
    readonly benchmark: FieldSeries | null;
  }[];
  /** Sum of squared weights. */
  readonly herfindahl: Float64Array;
  /** Effective number of assets: 1 divided by the sum of the squared weights. It is 0 if there is no weight. */
  readonly effective: Float64Array;
  readonly grossEffective: Float64Array;
  readonly grossLargest: Float64Array;
  /** Largest positive weight; 0 if there is none. */
  readonly largest: Float64Array;
  /** Active share; null without a benchmark. */
  readonly activeShare: Float64Array | null;
  readonly turnover: Float64Array;
}

/**
 * Computes the exposures of a run.
 * @throws Refusal NO_DATA_IN_RANGE; NO_COMMON_DATES if the benchmark lacks a date
 * @cost one pass over the weights [n x H] of dates whose figures are missing; none if all figures are cached. With more
 * than `CACHED_GROUPS_MAX` groups, there are two more passes: for the averages that sort the groups, and for the
 * reported groups.
 */
export function createExposures(columns: RunColumns, input: ExposuresInput): Exposures {
  const { header } = columns;
  const allDays = columns.i32('days');
  const span = findDatesWithin(allDays, input.window);
  const positions = selectReportedDates(allDays, span, input.interval);
  const selection = { positions, days: positions.map((position) => allDays[position]!) };
  const ownExposureSide = runSide(columns, positions);
  const benchmark = input.benchmark && input.benchmark.holdings.on(selection.days);
  const exposuresQuery: ExposuresQuery = {
    input,
    all: allDays,
    shown: selection,
    sides: { own: ownExposureSide, benchmark },
  };
  const concentration = input.keep(['concentration'], createFigureSize(exposuresQuery, CONCENTRATION_WIDTH));
  const active = benchmark && input.keep(['active share', input.benchmark!.key], createFigureSize(exposuresQuery, 1));
  const makers = [createConcentrationMaker(concentration)];
  if (active) makers.push(createActiveShareMaker(active, ownExposureSide, benchmark));
  const groups = {
    own: findGroups(exposuresQuery, 'own', makers)!,
    benchmark: findGroups(exposuresQuery, 'benchmark', makers),
  };
  const readFields = createFieldReader(exposuresQuery, makers);
  completeFigures(makers, { own: ownExposureSide, benchmark }, selection, input.onDate);
  return {
    indexId: header.run_id,
    by: input.by,
    benchmark: input.benchmark?.id ?? null,
    days: selection.days,
    groups: computeWeightsByGroup(groups.own, groups.benchmark, { dates: positions.length, groups: input.groups }),
    fields: readFields(),
    herfindahl: selectShownFigure(concentration, CONCENTRATION.herfindahl, selection),
    effective: selectShownFigure(concentration, CONCENTRATION.effective, selection),
    largest: selectShownFigure(concentration, CONCENTRATION.largest, selection),
    grossEffective: selectShownFigure(concentration, CONCENTRATION.grossEffective, selection),
    grossLargest: selectShownFigure(concentration, CONCENTRATION.grossLargest, selection),
    activeShare: active && selectShownFigure(active, 0, selection),
    turnover: computeShownTurnover(
      computeTurnover(columns, input.keep(['turnover'], createFigureSize(exposuresQuery, 1))),
      selection,
      span.from,
    ),
  };
}

interface ExposuresQuery {
  readonly input: ExposuresInput;
  /** Days of the run, [T]. */
  readonly all: Int32Array;
  readonly shown: ShownFigures;
  readonly sides: { readonly own: ExposureSide; readonly benchmark: ExposureSide | null };
}

const createFigureSize = ({ all }: ExposuresQuery, width: number) => ({ width, dates: all.length, areWritten: true });

/**
 * Maximum number of groups whose sums are cached. It is enough for sectors, countries and industries, but not for
 * single securities.
 */
const CACHED_GROUPS_MAX = 64;

/**
 * Returns the weights of one side by group; null if the side does not exist.
 * @param makers receives the function that computes the sums, if they are cached
 */
function findGroups(exposuresQuery: ExposuresQuery, name: SideName, makers: FiguresMaker[]): GroupSums | null {
  const { input, all, shown, sides } = exposuresQuery;
  const side = sides[name];
  if (side === null) return null;
  const sideGroups = createSideGroups(side.names, all, input.findGroup);
  const { groups } = sideGroups;
  if (groups.length > CACHED_GROUPS_MAX) return sumGroups(sideGroups, side, shown.days);
  const figures = getKeptFigures(exposuresQuery, name, {
    what: ['groups', input.by],
    width: groups.length,
    standsAlone: true,
  });
  makers.push(createGroupsMaker(figures, sideGroups, name));
  return findListedGroups(groups, figures, shown.positions);
}

interface SideFigures {
  readonly what: readonly string[];
  readonly width: number;
  /** True if the figures depend only on the holdings of this side. */
  readonly standsAlone: boolean;
}

/** Returns the cached figures of one side. If possible, a benchmark uses the cache of its run. */
function getKeptFigures(
  exposuresQuery: ExposuresQuery,
  name: SideName,
  { what, width, standsAlone }: SideFigures,
): DatedFigures {
  const { keep, benchmark } = exposuresQuery.input;
  if (name === 'own') return keep([...what, null], createFigureSize(exposuresQuery, width));
  if (standsAlone && benchmark!.keep) return benchmark!.keep([...what, null], createFigureSize(exposuresQuery, width));
  return keep([...what, benchmark!.key], createFigureSize(exposuresQuery, width));
}

/**
 * Prepares the figures of the datapoints.
 * @param makers receives the functions that compute them
 * @returns a function that returns the series after they were computed
 */
function createFieldReader(exposuresQuery: ExposuresQuery, makers: FiguresMaker[]): () => Exposures['fields'] {
  const { input, sides, shown } = exposuresQuery;
  const { fields: reader } = input;
  const readOn = readOnceADay(reader);
  const names = Math.max(sides.own.names.length, sides.benchmark?.names.length ?? 0);
  const results = reader.fields.map((field, f) => {
    const weightedField = computeWeightedField(input.engine, readOn, { field: f, names });
    const getFigures = (name: SideName): DatedFigures => {
      const standsAlone = reader.standsAlone(f);
      const figures = getKeptFigures(exposuresQuery, name, { what: ['field', field], width: FIELD_WIDTH, standsAlone });
      makers.push(weightedField.maker(figures, name));
      return figures;
    };
    return { field, own: getFigures('own'), benchmark: sides.benchmark && getFigures('benchmark') };
  });
  return () =>
    results.map(({ field, own, benchmark }) => ({
      field,
      own: createFieldSeries(own, shown),
      benchmark: benchmark && createFieldSeries(benchmark, shown),
    }));
}

/** Returns a reader that reads the data of each day only once for all datapoints. */
function readOnceADay({ on }: FieldReader): FieldReader['on'] {
  let day: Day | undefined;
  let fieldsOfDay: FieldsOfDay | undefined;
  return (requestedDay, weights) => {
    if (fieldsOfDay === undefined || day !== requestedDay) fieldsOfDay = on(requestedDay, weights);
    day = requestedDay;
    return fieldsOfDay;
  };
}

/** Returns the positions of the reported dates. */
function selectReportedDates(
  days: Int32Array,
  { from, to }: WindowSpan,
  interval: ExposuresInput['interval'],
): Int32Array {
  const allPositions = Int32Array.from({ length: to - from + 1 }, (_, k) => from + k);
  if (interval === 'native') return allPositions;
  return allPositions.filter(
    (position) => position === to || getSpan(days[position]!, interval) !== getSpan(days[position + 1]!, interval),
  );
}

/** Returns a number that is equal for all days of a week or month. */
function getSpan(day: Day, interval: 'weekly' | 'monthly'): number {
  // 1970-01-01, day 0, was a Thursday.
  if (interval === 'weekly') return Math.floor((day + 3) / 7);
  const { year, month } = toCivilDate(day);
  return 12 * year + month;
}

/**
 * Returns the one-way turnover of the portfolio's trades on each date. The first purchase is left out.
 * @cost reads the events once
 */
function computeTurnover(columns: RunColumns, figures: DatedFigures): DatedFigures {
  const { values, known } = figures;
  if (known[0] === 1) return figures;
  const width = columns.header.names.length;
  const [was, is] = [new Float64Array(width), new Float64Array(width)];
  columns.i32('eventAt').forEach((position, event) => {
    if (position <= 0) return;
    columns.fill('before', event * width, was);
    columns.fill('weights', position * width, is);
    values[position]! += computeMovedBetween(was, is) / 2;
  });
  known.fill(1);
  return figures;
}

/**
 * Sums the turnover since the previous reported date.
 * @param from first date of the window
 */
function computeShownTurnover(tradedFigures: DatedFigures, shownFigures: ShownFigures, from: number): Float64Array {
  const { positions } = shownFigures;
  if (positions.length === positions.at(-1)! - from + 1) return selectShownFigure(tradedFigures, 0, shownFigures);
  const sums = new Float64Array(positions.length);
  let position = from;
  for (let k = 0; k < sums.length; k++)
    for (; position <= positions[k]!; position++) sums[k]! += tradedFigures.values[position]!;
  return sums;
}

function computeMovedBetween(previousWeights: Float64Array, currentWeights: Float64Array): number {
  let movedWeight = 0;
  for (let i = 0; i < currentWeights.length; i++) movedWeight += Math.abs(currentWeights[i]! - previousWeights[i]!);
  return movedWeight;
}
