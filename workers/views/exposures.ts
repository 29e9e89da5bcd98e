import { readSecurityCurrency, restoreTreatment, type RunHeader } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import type { Day } from '#domain/base/time.js';
import { createComposer } from '#domain/books/composer.js';
import { openMarketOn } from '#domain/books/window.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { CrossSection } from '#domain/datapoints/cross-section.js';
import { parseField } from '#domain/datapoints/expression-checks.js';
import { type FieldLeaf, isField } from '#domain/datapoints/expression-tree.js';
import type { FieldRequest } from '#domain/datapoints/fields.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createSingleGroup, listGroupSpells, SINGLE_GROUPS } from '#domain/market/reference.js';
import type { SessionMarket } from '#domain/market/session-market.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { ComparedWith, InputOfView } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createBookHoldings, openStoredHoldings } from '#views/dated-figures.js';
import type { FieldReader, HeldSecurities, SideName } from '#views/exposure-series.js';
import { createExposures, type Exposures } from '#views/exposures.js';
import { openCachedCalendars, openCachedMarket } from '../input/markets.js';
import { runOnEngine } from '../input/numerics.js';
import { openModels } from '../input/risk-models.js';
import { getFigures, useRunFile } from '../run-files.js';
import { openCompared } from './comparison.js';
import { createWindow } from './run-view.js';

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
type UniverseFinder = (day: Day) => Int32Array;

/**
 * Creates a function that returns the universe of an index. @cost of running the indices of the universe, once; O(N)
 * per day
 */
function createUniverseFunction(
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

/**
 * Computes the exposures of a stored run.
 * @throws the refusals of `createExposures` and of the benchmark run
 * @throws CancelledError if the task is asked to stop; completed figures of dates are kept
 */
export function showExposures(input: InputOfView<'exposures'>, { report }: TaskControl): Promise<Exposures> {
  const { benchmarkColumns: stored } = input;
  const onDate = (): void => report(0);
  return runOnEngine((engine) =>
    useRunFile(input.columns, (run) => {
      if (stored === null) return compareExposures(engine, input, { run, stored, onDate });
      return useRunFile(stored, (benchmark) => compareExposures(engine, input, { run, stored: benchmark, onDate }));
    }),
  );
}

interface OpenRuns {
  readonly run: RunColumns;
  /** Stored run of the benchmark; null if the benchmark must be run. */
  readonly stored: RunColumns | null;
  readonly onDate: () => void;
}

function compareExposures(
  engine: Engine,
  { columns, market: handle, ...input }: InputOfView<'exposures'>,
  { run, stored, onDate }: OpenRuns,
): Exposures {
  const servedMarket = handle && openCachedMarket(handle);
  const otherComparedBenchmark = input.benchmark && openCompared(input.benchmark, servedMarket!, run.header);
  const market = otherComparedBenchmark?.market ?? servedMarket;
  const order = stored && computeColumnOrder(stored.header.names, market!);
  const holdings =
    stored === null
      ? otherComparedBenchmark && createBookHoldings(otherComparedBenchmark.bookTo(engine, run.i32('days').at(-1)!))
      : openStoredHoldings(stored, order!);
  const isAlike = stored !== null && order!.every((place, i) => place === i) && haveSameAxes(run, stored);
  return createExposures(run, {
    window: createWindow(input),
    by: input.by,
    groups: input.groups,
    interval: input.interval,
    findGroup: market === null || input.by === SINGLE_GROUPS ? createSingleGroup : listGroupSpells(market, input.by),
    benchmark: otherComparedBenchmark && {
      id: otherComparedBenchmark.id,
      key: JSON.stringify(input.benchmark),
      holdings: holdings!,
      keep: isAlike ? getFigures(input.benchmarkColumns!, handle) : null,
    },
    fields: createFieldReader(engine, input.fields, {
      market,
      header: run.header,
      benchmarkNames: holdings?.names ?? [],
      universeIn: (sm) =>
        input.universe &&
        createUniverseFunction(engine, {
          ...input.universe,
          market: servedMarket!,
          sm,
          until: run.i32('days').at(-1)!,
        }),
    }),
    keep: getFigures(columns, handle),
    engine,
    onDate,
  });
}

/** Returns true if two runs have the same dates and read datapoints with the same settings. */
function haveSameAxes(runColumns: RunColumns, otherRunColumns: RunColumns): boolean {
  const formatTerms = ({ header: { calendar, currency, treatment } }: RunColumns): string =>
    JSON.stringify([calendar, currency, treatment]);
  const [days, others] = [runColumns.i32('days'), otherRunColumns.i32('days')];
  return (
    formatTerms(runColumns) === formatTerms(otherRunColumns) &&
    days.length === others.length &&
    days.every((day, t) => day === others[t])
  );
}

/** Returns the positions of securities in the order of their columns. An index run has this order. */
function computeColumnOrder(names: readonly string[], { identifiers }: MarketData): Int32Array {
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const columnByPosition = Int32Array.from(names, (name) => columns.get(name)!); // a current run holds only securities of its market
  return Int32Array.from(names.keys()).sort((a, b) => columnByPosition[a]! - columnByPosition[b]!);
}

interface FieldValues {
  /** Market of the run; null if no datapoint is read. */
  readonly market: MarketData | null;
  readonly header: RunHeader;
  readonly benchmarkNames: readonly string[];
  /**
   * Returns the universe for BETA, in columns of a market. Returns null if BETA is not requested or the universe is
   * unknown.
   */
  universeIn(sm: SessionMarket): UniverseFinder | null;
}

/** Reads datapoints with the settings of a run: its currency and its staleness. */
function createFieldReader(
  engine: Engine,
  fields: readonly string[],
  { market, header, benchmarkNames, universeIn }: FieldValues,
): FieldReader {
  if (fields.length === 0 || market === null)
    return { fields: [], standsAlone: throwUndeclaredRead, on: throwUndeclaredRead };
  const sm = openMarketOn({ market, calendars: openCachedCalendars(header.closures), code: header.calendar });
  const treatment = restoreTreatment(header.treatment);
  const sides: Readonly<Record<SideName, SecurityPositions>> = {
    own: locateSecurities(engine, sm, header.names),
    benchmark: locateSecurities(engine, sm, benchmarkNames),
  };
  const findUniverse = universeIn(sm);
  const heldAtAll = new Set([...sides.own.columns, ...sides.benchmark.columns]);
  // The universe of BETA changes over time, and may contain any security.
  const universeColumns =
    findUniverse === null
      ? Int32Array.from(heldAtAll).sort()
      : Int32Array.from({ length: sm.securityCount }, (_, i) => i);
  const sections = createIndexCrossSections({
    market: sm,
    treatment,
    currency: readSecurityCurrency(header),
    followed: universeColumns,
  });
  const requestedFields = fields.map((field) => parseField(field, market));
  const latestOf = requestedFields.map((field) =>
    isField(field) && isPlain(field) ? sections.latest(field.name) : null,
  );
  return {
    fields,
    standsAlone: (field) => latestOf[field] !== null,
    on(day, weights) {
      const session = findLastAtMost(sm.sessions, day);
      const ownHeldSecurities = sides.own.locateHeld(weights);
      let otherHeldSecurities: HeldSecurities | undefined;
      let section: CrossSection | undefined;
      const getUniverse = () => findUniverse?.(day) ?? NO_COLUMNS;
      return {
        // An index and a reweighted version of it hold the same securities.
        held: (side, held) =>
          side === 'own'
            ? ownHeldSecurities
            : (otherHeldSecurities ??= sides.benchmark.locateHeld(held, ownHeldSecurities.columns)),
        values(field, { columns, count }, out) {
          const readLatestValues = latestOf[field]!;
          const values = out.subarray(0, columns.length);
          if (readLatestValues === null)
            values.set((section ??= sections.at(session, getUniverse())).numbers(requestedFields[field]!, columns));
          else readLatestValues(session, columns, values);
          out.fill(NaN, columns.length, count);
        },
      };
    },
  };
}

const isPlain = ({ lag, window, dataset }: FieldLeaf | FieldRequest): boolean =>
  (lag ?? 0) === 0 && (window ?? null) === null && (dataset ?? null) === null;
const NO_COLUMNS = new Int32Array(0);

function throwUndeclaredRead(): never {
  throw new Error('a datapoint is read that was not asked for');
}

interface SecurityPositions {
  /** Columns of all securities that the market has, ascending. */
  readonly columns: Int32Array;
  /**
   * Returns the columns of the securities with a non-zero weight, ascending, and their weights. The result is valid
   * until the next call.
   * @param alike array to return if its columns are equal
   */
  locateHeld(weights: Float64Array, alike?: Int32Array): HeldSecurities;
}

/** Maps securities to columns of a market. Securities that the market does not have get no values. */
function locateSecurities(engine: Engine, sm: SessionMarket, names: readonly string[]): SecurityPositions {
  const columnByPosition = names.map((name) => sm.columnOf(name));
  const [placed, absent] = [
    (place: number) => columnByPosition[place]! >= 0,
    (place: number) => columnByPosition[place]! < 0,
  ];
  const allPositions = [...names.keys()];
  const orderedPositions = allPositions.filter(placed).toSorted((a, b) => columnByPosition[a]! - columnByPosition[b]!);
  /** Positions of securities by column. Securities without a column follow. */
  const columnOrder = Int32Array.from([...orderedPositions, ...allPositions.filter(absent)]);
  const sizes = engine.room(names.length);
  const areEqualColumns = createColumnComparison();
  let heldPositions: Int32Array = new Int32Array(0);
  let otherPositions: Int32Array = columnOrder;
  let columns: Int32Array = new Int32Array(0);
  return {
    columns: Int32Array.from(orderedPositions, (place) => columnByPosition[place]!),
    locateHeld(weights, alike) {
      if (!copyHoldings(weights, { heldAt: heldPositions, others: otherPositions }, sizes)) {
        heldPositions = columnOrder.filter((place) => weights[place] !== 0);
        otherPositions = columnOrder.filter((place) => weights[place] === 0);
        columns = heldPositions.filter(placed).map((place) => columnByPosition[place]!);
        copyHoldings(weights, { heldAt: heldPositions, others: otherPositions }, sizes);
      }
      return {
        columns: alike && areEqualColumns(columns, alike) ? alike : columns,
        weights: sizes,
        count: heldPositions.length,
      };
    },
  };
}

/** Positions of securities with a weight, and of the other securities. */
interface HoldingPositions {
  readonly heldAt: Int32Array;
  readonly others: Int32Array;
}

/**
 * Copies the weights if the holdings are unchanged. Holdings change only at rebalances, but are requested for every
 * date.
 * @returns true if the holdings are unchanged
 */
function copyHoldings(weights: Float64Array, { heldAt, others }: HoldingPositions, sizes: Float64Array): boolean {
  for (let i = 0; i < heldAt.length; i++) {
    const weight = weights[heldAt[i]!]!;
    if (weight === 0) return false;
    sizes[i] = weight;
  }
  for (let i = 0; i < others.length; i++) if (weights[others[i]!] !== 0) return false;
  return true;
}

/** Creates a comparison of two lists of columns. It remembers an equal pair, so that the pair is compared only once. */
function createColumnComparison(): (a: Int32Array, b: Int32Array) => boolean {
  let lastComparison: { readonly a: Int32Array; readonly b: Int32Array; readonly areEqual: boolean } | undefined;
  return (a, b) => {
    if (lastComparison?.a !== a || lastComparison.b !== b)
      lastComparison = { a, b, areEqual: a.length === b.length && a.every((column, i) => column === b[i]) };
    return lastComparison.areEqual;
  };
}
