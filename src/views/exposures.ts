import type { EXPOSURE_INTERVALS, ExposuresView } from '#contract/analytics/run-views.js';
import { computeEffectiveAssets, computeGrossEffectiveAssets } from '#domain/analytics/concentration.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { compareText } from '#domain/base/findings.js';
import { sumDifferences } from '#domain/base/numbers.js';
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
import { AVERAGE_COUNT } from '#kernels/sums/weighted-percentiles.js';
import {
  addFigureText,
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
import {
  createSpan,
  findDatesWithin,
  openPanelRows,
  readStoredLabels,
  type RequestedDates,
  type WindowSpan,
} from './run-columns.js';

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

const PERCENTILE_MEMBERS = createJsonObject<FieldBody['percentiles'], FieldSeries['percentiles']>({
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
    PERCENTILE_MEMBERS.write(json, percentiles),
  ),
};
const BENCHMARK_FIELD = createJsonObject<FieldBody, FieldSeries>(FIELD_BODY);

const FIELD = createJsonObject<ExposuresView['fields'][number], Exposures['fields'][number]>({
  field: createTextMember(({ field }) => field),
  mean: createKnownMember(({ own }) => own.mean),
  coverage: createKnownMember(({ own }) => own.coverage),
  percentiles: createWrittenMember((json, { own }) => PERCENTILE_MEMBERS.write(json, own.percentiles)),
  benchmark: createWrittenMember((json, { benchmark }) => createNullableWriter(BENCHMARK_FIELD.write)(json, benchmark)),
});

const CONCENTRATION_MEMBERS = createJsonObject<ExposuresView['concentration'], Exposures>({
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
  concentration: createWrittenMember(CONCENTRATION_MEMBERS.write),
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

/**
 * Positions of the concentration figures. These are the sum of squared weights, the largest weight and the effective
 * number of assets. The last two also exist for gross weights.
 */
export const CONCENTRATION = { herfindahl: 0, largest: 1, effective: 2, grossLargest: 3, grossEffective: 4 } as const;
export const CONCENTRATION_WIDTH = 5;

export function createConcentrationMaker(figures: DatedFigures): FiguresMaker {
  const { values, known } = figures;
  return {
    figures,
    make({ at, own }) {
      let sumOfSquares = 0;
      let largest = 0;
      let leastWeight = 0;
      let grossWeight = 0;
      for (let i = 0; i < own.length; i++) {
        const weight = own[i]!;
        sumOfSquares += weight * weight;
        grossWeight += Math.abs(weight);
        if (weight > largest) largest = weight;
        else if (weight < leastWeight) leastWeight = weight;
      }
      const setFigure = (figure: number, value: number): void => void (values[figure * known.length + at] = value);
      setFigure(CONCENTRATION.herfindahl, sumOfSquares);
      setFigure(CONCENTRATION.largest, largest);
      setFigure(CONCENTRATION.effective, computeEffectiveAssets(sumOfSquares));
      setFigure(CONCENTRATION.grossLargest, Math.max(largest, -leastWeight));
      setFigure(CONCENTRATION.grossEffective, computeGrossEffectiveAssets(grossWeight, sumOfSquares));
    },
  };
}

/**
 * Creates the function that computes the active share: half the sum of absolute weight differences, over the securities
 * of both sides.
 */
function createActiveShareMaker(
  figures: DatedFigures,
  ownExposureSide: ExposureSide,
  benchmark: ExposureSide,
): FiguresMaker {
  const columnByName = new Map(ownExposureSide.names.map((name, position) => [name, position]));
  const ownPositions = Int32Array.from(benchmark.names, (name) => columnByName.get(name) ?? -1);
  const active = new Float64Array(ownExposureSide.names.length);
  const areSame = ownPositions.length === active.length && ownPositions.every((position, i) => position === i);
  return {
    figures,
    make(date) {
      if (areSame) {
        figures.values[date.at] = computeAlignedActiveShare(date.own, date.benchmark);
        return;
      }
      active.set(date.own);
      figures.values[date.at] = computeActiveShare(active, date.benchmark, ownPositions);
    },
  };
}

/** Computes the active share if both sides have the same securities in the same order. */
function computeAlignedActiveShare(ownWeights: Float64Array, benchmark: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < ownWeights.length; i++) sum += Math.abs(ownWeights[i]! - benchmark[i]!);
  return sum / 2;
}

/**
 * Computes the active share.
 * @param active weights of one side, which are overwritten
 * @param ownPositions positions of the other side's securities in `active`; -1 if absent
 */
function computeActiveShare(active: Float64Array, other: Float64Array, ownPositions: Int32Array): number {
  let sum = 0;
  for (let i = 0; i < other.length; i++) {
    const column = ownPositions[i]!;
    if (column >= 0) active[column]! -= other[i]!;
    else sum += Math.abs(other[i]!);
  }
  for (let i = 0; i < active.length; i++) sum += Math.abs(active[i]!);
  return sum / 2;
}

/** Side of a comparison: the holdings of the run or those of the benchmark. */
export type SideName = 'own' | 'benchmark';

/** Reads datapoints as known at the close of a day. */
export interface FieldReader {
  readonly fields: readonly string[];
  /**
   * Returns true if the value of a security does not depend on other securities. BETA does: it depends on the universe
   * of the run's index.
   */
  standsAlone(field: number): boolean;
  /**
   * Reads the data of a day.
   * @param weights weights of the run on the day
   */
  on(day: Day, weights: Float64Array): FieldsOfDay;
}

/** Data of a day. It is valid until the next day is read. */
interface FieldsOfDay {
  held(side: SideName, weights: Float64Array): HeldSecurities;
  /**
   * Reads the values of held securities.
   * @param field position of the datapoint in `fields`
   * @param out array of at least [n] values, of which the first n are overwritten; NaN if missing
   */
  values(field: number, securities: HeldSecurities, out: Float64Array): void;
}

export interface HeldSecurities {
  /**
   * Columns of the securities. The array is the same object as long as the securities are the same, also for the other
   * side.
   */
  readonly columns: Int32Array;
  /** Weights, at least [n]. */
  readonly weights: Float64Array;
  /** Number n of columns, including securities at the end that are not in the market. */
  readonly count: number;
}

const PERCENTILES = Float64Array.of(0.1, 0.25, 0.5, 0.75, 0.9);

/** Number of figures of a datapoint: averages and percentiles. */
const FIELD_WIDTH = AVERAGE_COUNT + PERCENTILES.length;

/** Weighted figures of a datapoint by date. They are NaN if no holding has a value. */
export interface FieldSeries {
  readonly mean: Float64Array;
  /** Fraction of the absolute weights with a value. */
  readonly coverage: Float64Array;
  readonly percentiles: Readonly<Record<'p10' | 'p25' | 'p50' | 'p75' | 'p90', Float64Array>>;
}

/** Function that returns the data of a day. The day is read only once for all datapoints. */
type FieldReaderOnDate = (day: Day, weights: Float64Array) => FieldsOfDay;

/** Position of a datapoint in the reader, and the maximum number of securities on a side. */
interface FieldOfSecurities {
  readonly field: number;
  readonly names: number;
}

/**
 * Creates the function that computes the weighted figures of a datapoint.
 * @param engine provides the memory
 */
function computeWeightedField(engine: Engine, readOn: FieldReaderOnDate, { field, names }: FieldOfSecurities) {
  const shares = engine.room(PERCENTILES.length);
  shares.set(PERCENTILES);
  const values = engine.room(names);
  const row = engine.room(FIELD_WIDTH);
  let knownOn: Day | undefined;
  let knownPositions: Int32Array | undefined;
  return {
    maker: (figures: DatedFigures, side: SideName): FiguresMaker => ({
      figures,
      make({ at, day, own, [side]: sideWeights }) {
        const fieldsOfDay = readOn(day, own);
        const { columns, weights, count } = fieldsOfDay.held(side, sideWeights);
        if (knownOn !== day || knownPositions !== columns) {
          fieldsOfDay.values(field, { columns, weights, count }, values);
          knownOn = day;
          knownPositions = columns;
        }
        engine.weightedPercentiles({ values, weights, count }, shares, row);
        const dates = figures.known.length;
        for (let f = 0; f < row.length; f++) figures.values[f * dates + at] = row[f]!;
      },
    }),
  };
}

function createFieldSeries(figures: DatedFigures, shownFigures: ShownFigures): FieldSeries {
  const getFigure = (figure: number): Float64Array => selectShownFigure(figures, figure, shownFigures);
  return {
    mean: getFigure(0),
    coverage: getFigure(1),
    percentiles: { p10: getFigure(2), p25: getFigure(3), p50: getFigure(4), p75: getFigure(5), p90: getFigure(6) },
  };
}

/** Groups of the securities of a side over the days of a run. */
interface SideGroups {
  readonly groups: readonly string[];
  /**
   * Starts at the first day. Returns a function that adds the weights of a day by group and writes the sums to a row. A
   * sum is NaN if no security of the group has a weight.
   */
  summing(): (day: Day, weights: Float64Array, row: Float64Array) => void;
}

/**
 * Assigns each security of one side to a group.
 * @param days all days of the run, so that the numbers of the groups do not depend on the shown dates
 */
export function createSideGroups(names: readonly string[], days: Iterable<Day>, getGroup: GroupOfDay): SideGroups {
  const numbers = createGroupNumbers();
  const getNumbers = numbers.byDay(names, getGroup);
  for (const day of days) getNumbers(day);
  return {
    groups: numbers.groups,
    summing() {
      const getDayNumbers = numbers.byDay(names, getGroup);
      return (day, weights, row) => sumByGroup(row, weights, getDayNumbers(day));
    },
  };
}

function sumByGroup(row: Float64Array, weights: Float64Array, groups: Int32Array): void {
  row.fill(NaN);
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    if (weight === 0) continue;
    const group = groups[i]!;
    const sum = row[group]!;
    row[group] = sum === sum ? sum + weight : weight;
  }
}

/** Weights by group on the shown dates. */
interface GroupSums {
  readonly groups: readonly string[];
  /**
   * Returns the sum of each group over all dates, [groups]. It is NaN if no security of the group has a weight on any
   * date.
   */
  totals(): Float64Array;
  /**
   * Adds the sums of all dates to the reported groups, [places][dates].
   * @param groupPositions reported group of each group, [groups]
   */
  addTo(sums: readonly Float64Array[], groupPositions: Int32Array): void;
  /**
   * Returns the sums of a group for output. Their text may be cached. A sum is 0 if no security of the group has a
   * weight.
   */
  written(sums: Float64Array, group: number): Float64Array;
}

/** Returns sums that are computed at each request. */
export function sumGroups({ groups, summing }: SideGroups, side: ExposureSide, days: ArrayLike<Day>): GroupSums {
  /**
   * Calls `visit` for each date.
   * @param visit receives the sums of a date, which are valid until the next call
   */
  const visitDates = (visit: (row: Float64Array, k: number) => void): void => {
    const row = new Float64Array(groups.length);
    const readWeights = side.pass();
    const sum = summing();
    for (let k = 0; k < days.length; k++) {
      sum(days[k]!, readWeights(k), row);
      visit(row, k);
    }
  };
  return {
    groups,
    totals() {
      const totals = new Float64Array(groups.length).fill(NaN);
      visitDates((row) => {
        for (let g = 0; g < row.length; g++) totals[g] = addTerm(totals[g]!, row[g]!);
      });
      return totals;
    },
    addTo(sums, groupPositions) {
      visitDates((row, k) => {
        for (let g = 0; g < row.length; g++) if (row[g] === row[g]) sums[groupPositions[g]!]![k]! += row[g]!;
      });
    },
    written: (sums) => sums,
  };
}

/** Adds a term to a sum. Either may be missing (NaN). */
function addTerm(sum: number, term: number): number {
  if (term !== term) return sum;
  return sum === sum ? sum + term : term;
}

function createGroupsMaker(figures: DatedFigures, { groups, summing }: SideGroups, name: SideName): FiguresMaker {
  const row = new Float64Array(groups.length);
  const sum = summing();
  return {
    figures,
    make(date) {
      sum(date.day, date[name], row);
      for (let g = 0; g < row.length; g++) figures.values[g * figures.known.length + date.at] = row[g]!;
    },
  };
}

/**
 * Returns sums from cached figures. They equal the results of `sumGroups`.
 * @param positions positions of the dates in the run
 */
function findListedGroups(groups: readonly string[], figures: DatedFigures, positions: Int32Array): GroupSums {
  const getColumn = (group: number): Float64Array =>
    figures.values.subarray(group * figures.known.length, (group + 1) * figures.known.length);
  return {
    groups,
    totals: () => Float64Array.from(groups, (_, g) => sumAt(getColumn(g), positions)),
    addTo(sums, groupPositions) {
      groups.forEach((_, g) => addAt(getColumn(g), positions, sums[groupPositions[g]!]));
    },
    written: (sums, group) => addFigureText(sums, figures, group, positions),
  };
}

function sumAt(column: Float64Array, positions: Int32Array): number {
  let total = NaN;
  for (let k = 0; k < positions.length; k++) total = addTerm(total, column[positions[k]!]!);
  return total;
}

/**
 * Adds the sums of a group.
 * @param sums destination; undefined if the group is not reported because it has no weight
 */
function addAt(column: Float64Array, positions: Int32Array, sums: Float64Array | undefined): void {
  if (sums === undefined) return;
  for (let k = 0; k < positions.length; k++) {
    const value = column[positions[k]!]!;
    if (value === value) sums[k]! += value;
  }
}

interface GroupWeights {
  readonly group: string;
  /** Total weight of the group on each date. */
  readonly weights: Float64Array;
  /** Weights of the group in the benchmark; null without a benchmark. */
  readonly benchmark: Float64Array | null;
}

/** Name of the group that combines all groups which are not listed. */
const OTHERS_NAME = 'OTHERS';

/**
 * Returns the weights of the groups with the largest average weights, and the combined weight of the other groups.
 * @cost reads the sums twice: for the averages that sort the groups, and for the reported values
 */
export function computeWeightsByGroup(
  ownGroupSums: GroupSums,
  benchmark: GroupSums | null,
  { dates, groups: groupsMax }: { readonly dates: number; readonly groups: number },
): GroupWeights[] {
  const totals = getTotals(ownGroupSums);
  const benchmarkTotals = benchmark && getTotals(benchmark);
  const groups = [...new Set([...totals.keys(), ...(benchmarkTotals?.keys() ?? [])])];
  const rankedGroups = groups.toSorted((a, b) => (totals.get(b) ?? 0) - (totals.get(a) ?? 0) || (a < b ? -1 : 1));
  const list = rankedGroups.slice(0, groupsMax);
  const labels = rankedGroups.length > list.length ? [...list, OTHERS_NAME] : list;
  const sums = computeSums(ownGroupSums, { dates, listed: list, places: labels.length });
  const other = benchmark && computeSums(benchmark, { dates, listed: list, places: labels.length });
  return labels.map((group, position) => ({ group, weights: sums[position]!, benchmark: other && other[position]! }));
}

/** Returns the sum of each group over all dates. Groups without a weight on any date are left out. */
function getTotals(groupSums: GroupSums): Map<string, number> {
  const totals = groupSums.totals();
  return new Map(
    groupSums.groups.map((group, g) => [group, totals[g]!] as const).filter(([, sum]) => !Number.isNaN(sum)),
  );
}

interface ReportedGroups {
  readonly dates: number;
  readonly listed: readonly string[];
  /** Number of reported groups, including the combined group if there is one. */
  readonly places: number;
}

/** Returns the sums by reported group, [places][dates]. */
function computeSums(groupSums: GroupSums, { dates, listed, places }: ReportedGroups): Float64Array[] {
  const placeOfGroup = new Map(listed.map((group, position) => [group, position]));
  const groupAt = new Map(groupSums.groups.map((group, g) => [placeOfGroup.get(group), g]));
  const sums = Array.from({ length: places }, () => new Float64Array(dates));
  groupSums.addTo(
    sums,
    Int32Array.from(groupSums.groups, (group) => placeOfGroup.get(group) ?? places - 1),
  );
  return sums.map((ownSum, position) => {
    const group = groupAt.get(position);
    return group === undefined ? ownSum : groupSums.written(ownSum, group);
  });
}
