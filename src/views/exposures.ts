import { sumDifferences } from '#domain/base/numbers.js';
import type { EXPOSURE_INTERVALS, ExposuresView } from '#contract/analytics/run-views.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { compareText } from '#domain/base/findings.js';
import { type Day, toCivilDate } from '#domain/base/time.js';
import {
  createGroupNumbers,
  createSingleGroup,
  type GroupOfDay,
  listGroupSpells,
  readClassification,
  SINGLE_GROUPS,
} from '#domain/market/market-data.js';
import type { Engine } from '#kernels/engines/engine.js';
import {
  completeFigures,
  type DatedFigures,
  type ExposureSide,
  type FigureCache,
  type FiguresMaker,
  type HoldingNames,
  runSide,
  selectShownFigure,
  type ShownFigures,
  writeFigure,
} from './dated-figures.js';
import {
  computeWeightedField,
  computeWeightsByGroup,
  CONCENTRATION as CONCENTRATION_SERIES,
  CONCENTRATION_WIDTH,
  createActiveShareMaker,
  createConcentrationMaker,
  createFieldSeries,
  createGroupsMaker,
  createSideGroups,
  FIELD_WIDTH,
  type FieldReader,
  type FieldSeries,
  type FieldsOfDay,
  findListedGroups,
  type GroupSums,
  type GroupWeights,
  type SideName,
  sumGroups,
} from './exposure-series.js';
import { type Batch, BATCH_ROWS, type ExportSource, type Producer } from './formats/batch.js';
import {
  createJsonObject,
  createTextMember,
  createValueMember,
  createWrittenMember,
  encodeDays,
  type JsonWriter,
  type Member,
} from './json/writer.js';
import { createSpan, findDatesWithin, openPanelRows, readStoredLabels, type RequestedDates, type WindowSpan } from './run-columns.js';

/** Yields the weights by group. Positions are dates in the window. */
export const produceExposures: Producer<'exposures'> = function* (source, offset) {
  const { columns, window } = source;
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from + offset >= to) return;
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  const panelRows = openPanelRows(columns, block, { from: from + offset, to: to - 1 });
  const groups = createGroups(source, days.subarray(from, to));
  const getCodes = groups.codes();
  let rows: GroupRow[] = [];
  for (let t = from + offset; t < to; t++) {
    rows.push(...listRows(days[t]!, panelRows.at(t), getCodes(days[t]!)));
    if (rows.length < BATCH_ROWS && t < to - 1) continue;
    yield createBatch(rows, groups.texts, t + 1 - from);
    rows = [];
  }
};

interface GroupRow {
  readonly day: Day;
  readonly group: number;
  weight: number;
  names: number;
}

/** Returns the groups with holdings, in ascending order. */
function listRows(day: Day, weights: Float64Array, codes: Int32Array): GroupRow[] {
  const rows = new Map<number, GroupRow>();
  weights.forEach((weight, name) => {
    if (weight === 0) return;
    const group = codes[name]!;
    const row = rows.get(group) ?? { day, group, weight: 0, names: 0 };
    row.weight += weight;
    row.names++;
    rows.set(group, row);
  });
  return [...rows.values()].toSorted((a, b) => a.group - b.group);
}

function createBatch(rows: readonly GroupRow[], texts: readonly string[], end: number): Batch<'exposures'> {
  return {
    count: rows.length,
    end,
    columns: {
      date: Int32Array.from(rows, ({ day }) => day),
      group: { codes: Int32Array.from(rows, ({ group }) => group), texts },
      weight: Float64Array.from(rows, ({ weight }) => weight),
      names: Int32Array.from(rows, ({ names }) => names),
    },
  };
}

interface Groups {
  /** All groups in the window in ascending order. All parts of an export share this list. */
  readonly texts: readonly string[];
  /**
   * Returns a function that finds the position of each security's group in `texts`. It must be called with ascending
   * days.
   */
  codes(): (day: Day) => Int32Array;
}

function createGroups(source: ExportSource, days: Int32Array): Groups {
  const { names } = source.columns.header;
  const groupOfDay = selectGrouping(source);
  const numbers = createGroupNumbers();
  const getNumbers = numbers.byDay(names, groupOfDay);
  days.forEach((day) => getNumbers(day));
  const texts = numbers.groups.toSorted(compareText);
  const ranks = Int32Array.from(numbers.groups, (group) => texts.indexOf(group));
  return {
    texts,
    codes() {
      const getDayNumbers = numbers.byDay(names, groupOfDay);
      return (day) => getDayNumbers(day).map((number) => ranks[number]!);
    },
  };
}

const DEFAULT_GROUPS = 'SECTOR';

/**
 * Returns how securities are grouped: by a column of the market, or, without a market, by the sectors stored with the
 * run.
 */
function selectGrouping({ columns, market, by = DEFAULT_GROUPS }: ExportSource): GroupOfDay {
  if (by === SINGLE_GROUPS) return createSingleGroup;
  if (market !== null) return listGroupSpells(market, by);
  const sectors = by === DEFAULT_GROUPS ? readStoredSectors(columns) : new Map<string, string | null>();
  return (name) => ({ group: readClassification(sectors.get(name) ?? null), until: Infinity });
}

function readStoredSectors(columns: RunColumns): Map<string, string | null> {
  const { sectors } = readStoredLabels(columns);
  return new Map(columns.header.names.map((name, i) => [name, sectors[i] ?? null]));
}

export interface ExposuresInput {
  readonly window: RequestedDates;
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
    readonly holdings: HoldingNames;
    /** Cache of the benchmark's own run. Null if that run has other dates or terms. */
    readonly keep: FigureCache | null;
  } | null;
  /** Reader of the averaged datapoints, for the securities of the run and the benchmark. */
  readonly fields: FieldReader;
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
    herfindahl: selectShownFigure(concentration, CONCENTRATION_SERIES.herfindahl, selection),
    effective: selectShownFigure(concentration, CONCENTRATION_SERIES.effective, selection),
    largest: selectShownFigure(concentration, CONCENTRATION_SERIES.largest, selection),
    grossEffective: selectShownFigure(concentration, CONCENTRATION_SERIES.grossEffective, selection),
    grossLargest: selectShownFigure(concentration, CONCENTRATION_SERIES.grossLargest, selection),
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

function readOnceADay({ on }: FieldReader): FieldReader['on'] {
  let day: Day | undefined;
  let fieldsOfDay: FieldsOfDay | undefined;
  return (requestedDay, weights) => {
    if (fieldsOfDay === undefined || day !== requestedDay) fieldsOfDay = on(requestedDay, weights);
    day = requestedDay;
    return fieldsOfDay;
  };
}

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
    values[position]! += sumDifferences(was, is) / 2;
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

/** Creates a member that is a list of numbers. Missing values are null. */
function createKnownMember<V, S>(readValues: (source: S) => Float64Array): Member<V, S> {
  return createWrittenMember((json, source) => writeFigure(json, readValues(source)));
}

function writeItems<S>(json: JsonWriter, items: readonly S[], write: (json: JsonWriter, item: S) => void): void {
  json.raw('[');
  items.forEach((item, k) => {
    if (k > 0) json.raw(',');
    write(json, item);
  });
  json.raw(']');
}

function createNullableWriter<S>(
  write: (json: JsonWriter, source: S) => void,
): (json: JsonWriter, source: S | null) => void {
  return (json, source) => {
    if (source === null) json.raw('null');
    else write(json, source);
  };
}

const writeFigureOrNull = createNullableWriter(writeFigure);

const GROUP = createJsonObject<ExposuresView['groups'][number], GroupWeights>({
  group: createTextMember(({ group }) => group),
  weights: createKnownMember(({ weights }) => weights),
  benchmark_weights: createWrittenMember((json, { benchmark }) => writeFigureOrNull(json, benchmark)),
});

type FieldBody = Omit<ExposuresView['fields'][number], 'field' | 'benchmark'>;

const PERCENTILES = createJsonObject<FieldBody['percentiles'], FieldSeries['percentiles']>({
  p10: createKnownMember(({ p10 }) => p10),
  p25: createKnownMember(({ p25 }) => p25),
  p50: createKnownMember(({ p50 }) => p50),
  p75: createKnownMember(({ p75 }) => p75),
  p90: createKnownMember(({ p90 }) => p90),
});

const FIELD_BODY = {
  mean: createKnownMember<FieldBody['mean'], FieldSeries>(({ mean }) => mean),
  coverage: createKnownMember<FieldBody['coverage'], FieldSeries>(({ coverage }) => coverage),
  percentiles: createWrittenMember<FieldBody['percentiles'], FieldSeries>((json, { percentiles }) =>
    PERCENTILES.write(json, percentiles),
  ),
};
const BENCHMARK_FIELD = createJsonObject<FieldBody, FieldSeries>(FIELD_BODY);

const FIELD = createJsonObject<ExposuresView['fields'][number], Exposures['fields'][number]>({
  field: createTextMember(({ field }) => field),
  mean: createKnownMember(({ own }) => own.mean),
  coverage: createKnownMember(({ own }) => own.coverage),
  percentiles: createWrittenMember((json, { own }) => PERCENTILES.write(json, own.percentiles)),
  benchmark: createWrittenMember((json, { benchmark }) => createNullableWriter(BENCHMARK_FIELD.write)(json, benchmark)),
});

const CONCENTRATION = createJsonObject<ExposuresView['concentration'], Exposures>({
  herfindahl: createKnownMember(({ herfindahl }) => herfindahl),
  effective: createKnownMember(({ effective }) => effective),
  largest: createKnownMember(({ largest }) => largest),
  gross_effective: createKnownMember(({ grossEffective }) => grossEffective),
  gross_largest: createKnownMember(({ grossLargest }) => grossLargest),
});

const EXPOSURES = createJsonObject<ExposuresView, Exposures>({
  index_id: createTextMember(({ indexId }) => indexId),
  by: createTextMember(({ by }) => by),
  benchmark: createValueMember(({ benchmark }) => benchmark),
  dates: createWrittenMember((json, { days }) => {
    json.raw('[');
    json.token(encodeDays(days));
    json.raw(']');
  }),
  groups: createWrittenMember((json, { groups }) => writeItems(json, groups, GROUP.write)),
  fields: createWrittenMember((json, { fields }) => writeItems(json, fields, FIELD.write)),
  concentration: createWrittenMember(CONCENTRATION.write),
  active_share: createWrittenMember((json, { activeShare }) => writeFigureOrNull(json, activeShare)),
  turnover: createKnownMember(({ turnover }) => turnover),
});

/** Maximum size in bytes of a number with seventeen digits and its comma, and of a date. */
const NUMBER_BYTES = 21;
const DATE_BYTES = 13;

/**
 * Estimates the size of an ExposuresView in bytes. If a buffer is too small, its contents must be moved during writing.
 */
export function estimateExposuresBytes({ days, groups, fields, benchmark }: Exposures): number {
  const sides = benchmark === null ? 1 : 2;
  const numbers = CONCENTRATION_AND_TURNOVER + sides * (groups.length + FIELD_WIDTH * fields.length);
  return ENVELOPE_BYTES + days.length * (DATE_BYTES + NUMBER_BYTES * numbers);
}

/** Number of series in addition to groups and fields: five concentration figures, turnover and active share. */
const CONCENTRATION_AND_TURNOVER = 7;
/** Size of the names of members, groups and fields in bytes. */
const ENVELOPE_BYTES = 1 << 13;

/**
 * Writes an ExposuresView as JSON.
 * @throws Refusal NUMERIC_FAILURE
 * @cost 50 ns per number without cached text
 */
export const writeExposures = (json: JsonWriter, exposures: Exposures): void => EXPOSURES.write(json, exposures);
