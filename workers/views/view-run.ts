import { readSecurityCurrency, restoreTreatment, type RunHeader } from '#domain/backtest/run-file/header.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import { summariseRun } from '#domain/backtest/summary.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { assertNoErrors, Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { createComposer } from '#domain/books/composer.js';
import { openMarketOn, type SessionMarket } from '#domain/market/session-market.js';
import { listClosures } from '#domain/calendars/calendar.js';
import type { CrossSection } from '#domain/datapoints/cross-section.js';
import { parseField } from '#domain/datapoints/expression-checks.js';
import { type FieldLeaf, isField } from '#domain/datapoints/expression-tree.js';
import type { FieldRequest } from '#domain/datapoints/fields.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import type { LimitRow } from '#domain/definition/compliance.js';
import {
  type ConstraintRow,
  describeLackingValues,
  listMissingValues,
  type MissingValues,
} from '#domain/definition/constraint-class.js';
import {
  createLimitRows,
  listRowFindings,
  type RowWatch,
  type WatchedContext,
} from '#domain/definition/limit-monitoring.js';
import {
  createGroupsByDay,
  createSingleGroup,
  type GroupOfDay,
  listGroupSpells,
  listIssuerSpells,
  type MarketData,
  SINGLE_GROUPS,
  UNCLASSIFIED,
} from '#domain/market/market-data.js';
import { readDatapoints } from '#domain/optimisation/decision-problem.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import {
  computeActiveByName,
  computeFactorRisk,
  computeModelFactorRisk,
  computeModelShares,
} from '#domain/risk/contributions.js';
import { estimateRiskModel } from '#domain/risk/estimation.js';
import { findPart, groupPartsByDate } from '#domain/risk/model-tables.js';
import { type Estimator, RiskModelRequest } from '#domain/risk/risk-models.js';
import {
  findModelInForce,
  openPackedFactors,
  openPackedMatrix,
  packUpper,
  type StoredModel,
} from '#domain/risk/stored-models.js';
import { computeScenario, createScenarioMarket } from '#domain/studies/scenarios.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { TaskControl } from '#jobs/tasks/messages.js';
import type {
  ComparedWith,
  FactorMeasure,
  FactorModelFile,
  InputOfView,
  MeasuringModel,
  RunViewInput,
  RunViewName,
} from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { formatActionsCsv } from '#views/actions.js';
import { createAssetView } from '#views/asset.js';
import { addPartContributions, createAttributionView, createFactorAttributionView } from '#views/attribution.js';
import { estimateComparisonBytes, formatComparisonCsv, writeComparison } from '#views/comparison.js';
import { createBookHoldings, openStoredHoldings } from '#views/dated-figures.js';
import { createDividendPointsView } from '#views/dividend-points.js';
import {
  createExposuresFile,
  createLimitsFile,
  createScenariosFile,
  type ListedScenarios,
} from '#views/exports/view-files.js';
import {
  createExposures,
  estimateExposuresBytes,
  type Exposures,
  type FieldReader,
  type HeldSecurities,
  type SideName,
  writeExposures,
} from '#views/exposures.js';
import { estimateOverviewBytes, writeOverview } from '#views/json/record.js';
import { createJsonWriter } from '#views/json/writer.js';
import { roundLevels, writeLevels } from '#views/levels.js';
import { createMetricsView, createPerformance, createSummaryView, writePerformance } from '#views/performance.js';
import { createLimitsView } from '#views/limits.js';
import { createRebalanceView, listRebalances } from '#views/rebalances.js';
import { computeRunFractions } from '#views/report/figures.js';
import { decomposeRisk, type MeasuredFactors } from '#views/run-risk.js';
import { type ActiveRisk, createWeightsView, type HeldRisk, type WeightsOnDate } from '#views/weights.js';
import {
  openCachedCalendars,
  openCachedMarket,
  openModels,
  readPlan,
  readStoredDoubles,
  runOnEngine,
} from '../input/inputs.js';
import { copyWithHash, wrapStoppable } from '../output/task-outputs.js';
import { getFigures, useRunFile } from '../run-files.js';
import {
  openCompared,
  requireMarket,
  showComparison,
  showGroups,
  showReconciliation,
  showRollingRisk,
} from './comparison.js';
import {
  type ComparedWeights,
  type ComputedView,
  createHoldingDatapoints,
  createWindow,
  findHoldingPositions,
  formatWindowDates,
  getPositions,
  listHoldingsByName,
  listUncovered,
  type MeasuredHoldings,
  type MeasureInput,
  measureRisk,
  readHoldings,
  readRiskWindow,
  type RunHoldings,
  showActions,
  showProForma,
  sumAbsent,
} from './run-holdings.js';

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
function showExposures(input: InputOfView<'exposures'>, { report }: TaskControl): Promise<Exposures> {
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

function showFactorAttribution({ columns, market, model, ...query }: InputOfView<'factor-attribution'>): object {
  return useRunFile(columns, (run) => {
    const window = readRiskWindow(readHoldings(run, null), openCachedMarket(market));
    return createFactorAttributionView(
      run,
      { ...window, datapoints: createHoldingDatapoints(window, run.header) },
      { ...createWindow(query), model },
    );
  });
}

/**
 * Measures the risk of the holdings by a stored model, and active risk if there is a benchmark.
 * @throws Refusal MODEL_LACKS_NAMES if the model has none of the securities, because the risk is unknown, not 0
 */
function measureByModel(
  measuring: MeasuringModel,
  { names, held, day }: Pick<WeightsOnDate, 'names' | 'held' | 'day'>,
  benchmark: ComparedWeights | null,
): MeasuredHoldings {
  const { modelId } = measuring;
  const model = findModelInForce(openModels({ [modelId]: measuring })(modelId), day);
  const modelDate = formatDay(model.observedEnd);
  const weights = listHoldingsByName(names, held);
  assertKnownSecurities(model, weights);
  return measureWithModel(model, {
    weights,
    benchmark,
    span: {
      risk_model: modelId,
      risk_estimator: null,
      window_start: model.isImported === true ? modelDate : measuring.observedStart,
      window_end: modelDate,
      observations: null,
    },
  });
}

/**
 * Measures risk by an estimate over the window of the run, for the securities of the run and its benchmark.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost of `estimateRiskModel`
 */
function measureByEstimate(
  engine: Engine,
  estimator: Estimator,
  { runHoldings, market, benchmark }: MeasureInput,
): MeasuredHoldings {
  const returns = readRiskWindow(runHoldings, market);
  const window = { ...returns, datapoints: createHoldingDatapoints(returns, runHoldings.header) };
  const { sm, to } = window;
  const weights = listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held);
  const columns = new Set(findHoldingPositions(sm, weights).keys());
  if (benchmark !== null) for (const column of getPositions(sm, benchmark.weights).keys()) columns.add(column);
  return engine.scope(() => {
    const sortedColumns = Int32Array.from(columns).toSorted();
    const { coverage, covariance } = estimateRiskModel(
      engine,
      window,
      sortedColumns,
      RiskModelRequest.parse({ estimator }),
    );
    const order = coverage.columns.length;
    const packedMatrix = openPackedMatrix(packUpper(covariance, order), order);
    const model: StoredModel = {
      modelId: estimator,
      names: Array.from(coverage.columns, (column) => sm.identifiers[column]!),
      observedEnd: sm.sessions[to]!,
      covariance: () => packedMatrix,
    };
    return measureWithModel(model, {
      weights,
      benchmark,
      span: {
        risk_model: null,
        risk_estimator: estimator,
        observations: coverage.sessions.length,
        ...formatWindowDates(runHoldings),
      },
    });
  });
}

function measureWithModel(
  model: StoredModel,
  { weights, benchmark, span }: Omit<ActiveInput, 'benchmark'> & { readonly benchmark: ComparedWeights | null },
): MeasuredHoldings {
  const { volatility, contributions, uncovered } = computeModelShares(model, weights);
  const covered_weight = [...contributions.keys()].reduce((sum, name) => sum + weights.get(name)!, 0);
  const risk: HeldRisk = {
    payload: { volatility, covered_weight, uncovered: [...uncovered], ...span },
    findContribution: (name) => contributions.get(name) ?? null,
  };
  return { risk, active: benchmark === null ? null : computeActiveRisk(model, { weights, benchmark, span }) };
}

interface ActiveInput {
  readonly weights: ReadonlyMap<string, number>;
  readonly benchmark: ComparedWeights;
  readonly span: Pick<
    ActiveRisk['payload'],
    'risk_model' | 'risk_estimator' | 'window_start' | 'window_end' | 'observations'
  >;
}

function computeActiveRisk(
  model: StoredModel,
  { weights: own, benchmark: { id, weights }, span }: ActiveInput,
): ActiveRisk {
  const activeWeights = computeActiveByName(own, weights);
  const unionNames = [...activeWeights.keys()];
  const { volatility, contributions, uncovered } = computeModelShares(model, activeWeights);
  const computeGross = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + Math.abs(activeWeights.get(name)!), 0);
  const total = computeGross(unionNames);
  const notHeld = unionNames.filter((name) => !own.has(name) && contributions.has(name));
  return {
    payload: {
      benchmark: id,
      tracking_error: volatility,
      covered_weight: total === 0 ? 1 : computeGross(contributions.keys()) / total,
      contributions_not_held: Object.fromEntries(notHeld.map((name) => [name, contributions.get(name)!])),
      uncovered: [...uncovered],
      ...span,
    },
    findContribution: (name) => contributions.get(name) ?? null,
  };
}

/**
 * Checks that a stored model covers at least one of the holdings. Otherwise the risk is unknown and not 0.
 * @throws Refusal MODEL_LACKS_NAMES
 */
function assertKnownSecurities(
  { modelId, names }: Pick<StoredModel, 'modelId' | 'names'>,
  weights: ReadonlyMap<string, number>,
): void {
  if (weights.size === 0 || names.some((name) => weights.has(name))) return;
  const identifiers = [...weights.keys()].toSorted(compareText);
  throw new Refusal(
    'MODEL_LACKS_NAMES',
    `The risk model ${modelId} has no estimate of any of the ${identifiers.length} holdings.`,
    { model_id: modelId, identifiers },
  );
}

/**
 * Decomposes the active variance of a run against a benchmark by factors; the total variance if the benchmark is null.
 * @throws Refusal NO_DATA_AT_DATE, RISK_INSUFFICIENT_DATA, MODEL_LACKS_NAMES
 */
function showFactorRisk(
  { columns, as_of, benchmark, market: handle, measure }: Omit<InputOfView<'factor-risk'>, 'view'>,
  { report }: TaskControl,
): Promise<object> {
  const asOf = as_of ?? null;
  const onPart = (): void => report(0);
  const runHoldings = useRunFile(columns, (run) => readHoldings(run, asOf));
  const ownMarket = openCachedMarket(handle);
  const comparedBenchmark =
    benchmark === null ? null : openCompared({ ...benchmark, onPart }, ownMarket, runHoldings.header);
  return runOnEngine((engine) => {
    const weights = {
      runHoldings,
      market: comparedBenchmark?.market ?? ownMarket,
      weights: listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held),
      compared: comparedBenchmark?.weightsOn(engine, runHoldings.weights.day) ?? new Map<string, number>(),
      onPart,
    };
    const measuredFactors =
      'stored' in measure ? selectStoredFactors(measure.stored, weights) : estimateFactors(engine, measure, weights);
    return decomposeRisk(measureWithHindsight(measuredFactors, runHoldings), {
      benchmark: comparedBenchmark?.id ?? null,
      requested_as_of: asOf,
      as_of: formatDay(runHoldings.weights.day),
    });
  });
}

interface ComparedRun {
  readonly runHoldings: RunHoldings;
  readonly market: MarketData;
  readonly weights: ReadonlyMap<string, number>;
  /** Weights of the benchmark; empty if no benchmark is requested. */
  readonly compared: ReadonlyMap<string, number>;
  readonly onPart: () => void;
}

function estimateFactors(
  engine: Engine,
  { model, factors, estimator, findings }: Exclude<FactorMeasure, { readonly stored: FactorModelFile }>,
  { runHoldings, market, weights, compared, onPart }: ComparedRun,
): MeasuredFactors {
  const window = readRiskWindow(runHoldings, market, onPart);
  const { sm } = window;
  const risk = computeFactorRisk(
    engine,
    { ...window, datapoints: createHoldingDatapoints(window, runHoldings.header) },
    {
      weights: findHoldingPositions(sm, weights),
      benchmark: getPositions(sm, compared),
      absent: sumAbsent(sm, computeActiveByName(weights, compared)),
      model,
      factors,
    },
  );
  return {
    ...risk,
    uncovered: listUncovered(sm, risk, new Set([...weights.keys(), ...compared.keys()])),
    riskModel: null,
    estimator,
    window: formatWindowDates(runHoldings),
    findings,
  };
}

function selectStoredFactors(
  stored: FactorModelFile,
  { runHoldings, weights, compared }: ComparedRun,
): MeasuredFactors {
  const { modelId, factors, estimator } = stored;
  const { names, numbers, window } = readFactorsOn(stored, formatDay(runHoldings.weights.day));
  assertKnownSecurities({ modelId, names }, weights);
  const model = openPackedFactors(numbers, factors, names.length);
  const risk = computeModelFactorRisk(model, names, computeActiveByName(weights, compared));
  return {
    ...risk,
    model: estimator,
    riskModel: modelId,
    estimator: null,
    observations: null,
    window,
    findings: createLackFindings(modelId, risk.uncovered),
  };
}

interface FactorsOnDate extends Pick<FactorModelFile, 'names'>, Pick<MeasuredFactors, 'window'> {
  readonly numbers: Float64Array;
}

/**
 * Returns the packed factors of a date. For an imported model, these are the factors in force on the date. Before the
 * first date of the model, they are its oldest factors.
 */
function readFactorsOn({ path, names, factors, dates, ...span }: FactorModelFile, date: string): FactorsOnDate {
  const numbers = readStoredDoubles([path]);
  if (dates === undefined)
    return { names, numbers, window: { window_start: span.observedStart, window_end: span.observedEnd } };
  const K = factors.length;
  const parts = groupPartsByDate(names, dates, K);
  const datePart = findPart(parts, date) ?? parts[0]!; // an imported model has at least one date
  const end = datePart.factorsAt + datePart.names.length * (K + 1) + K * K;
  const window = { window_start: datePart.date, window_end: datePart.date };
  return { names: datePart.names, numbers: numbers.subarray(datePart.factorsAt, end), window };
}

/** Maximum number of securities in a finding. */
const LISTED_NAMES_MAX = 5;

function createLackFindings(modelId: string, names: readonly string[]): Finding[] {
  if (names.length === 0) return [];
  const remainderText = names.length > LISTED_NAMES_MAX ? ` and ${names.length - LISTED_NAMES_MAX} more` : '';
  const message = `The risk model ${modelId} has no estimate of ${names.slice(0, LISTED_NAMES_MAX).join(', ')}${remainderText}: the other weights are scaled to the full weight.`;
  const listedNames = names.toSorted(compareText).slice(0, LISTED_NAMES_MAX);
  return [
    {
      severity: 'warning',
      code: 'MODEL_LACKS_NAMES',
      path: 'risk_model',
      message,
      count: names.length,
      places: listedNames,
    },
  ];
}

/** Adds a warning if the estimate uses returns after the date of the weights. */
function measureWithHindsight(measured: MeasuredFactors, { weights }: RunHoldings): MeasuredFactors {
  const { riskModel, window, findings } = measured;
  const { window_end: end } = window;
  if (parseValidDay(end) <= weights.day) return measured;
  const modelText = riskModel === null ? 'The estimate' : `The risk model ${riskModel}`;
  const message = `${modelText} uses returns up to ${end}, after the weights of ${formatDay(weights.day)}.`;
  return { ...measured, findings: [...findings, { severity: 'warning', code: 'LOOK_AHEAD', path: 'as_of', message }] };
}

/** Computes the composition of a run under scenarios. @throws Refusal NO_DATA_AT_DATE, VALIDATION_FAILED */
function showScenarios({ columns, request, market: handle }: InputOfView<'scenarios'>): ListedScenarios {
  const { header, weights } = useRunFile(columns, (run) => readHoldings(run, request.as_of));
  const { by } = request;
  const sm = openMarketOn({
    market: openCachedMarket(handle),
    calendars: openCachedCalendars(header.closures),
    code: header.calendar,
  });
  const market = createScenarioMarket(sm, { header, weights, by });
  const scenarioOutcomes = request.scenarios.map((scenario, position) =>
    computeScenario(market, scenario, { by, path: `scenarios[${position}]` }),
  );
  return {
    index_id: header.run_id,
    as_of: formatDay(weights.day),
    by,
    scenarios: scenarioOutcomes.map(({ result }) => result),
    findings: scenarioOutcomes.flatMap(({ findings }) => findings),
  };
}

/** Returns the weights of a run on a date, and their risk if it is requested. */
async function showWeights(input: InputOfView<'weights'>, { report }: TaskControl): Promise<object> {
  const onPart = (): void => report(0);
  const { columns, as_of: asOf = null, risk, model = null, estimator, benchmark, market: handle } = input;
  const runHoldings = useRunFile(columns, (run) => readHoldings(run, asOf));
  const market = handle && openCachedMarket(handle);
  const { compared, measured } = await runOnEngine((engine) => {
    const otherComparedBenchmark =
      benchmark && openCompared({ ...benchmark, onPart }, requireMarket({ market }), runHoldings.header);
    const comparedWeights = otherComparedBenchmark && otherComparedBenchmark.weightsOn(engine, runHoldings.weights.day);
    const comparedSide = otherComparedBenchmark && { id: otherComparedBenchmark.id, weights: comparedWeights! };
    if (model !== null)
      return { compared: comparedWeights, measured: measureByModel(model, runHoldings.weights, comparedSide) };
    if (!risk) return { compared: comparedWeights, measured: null };
    const measuredWeights = {
      runHoldings,
      market: otherComparedBenchmark?.market ?? market!,
      benchmark: comparedSide,
      onPart,
    };
    return {
      compared: comparedWeights,
      measured: estimator
        ? measureByEstimate(engine, estimator, measuredWeights)
        : measureRisk(engine, measuredWeights),
    };
  });
  return createWeightsView({
    runId: runHoldings.header.run_id,
    requestedAsOf: asOf,
    weights: runHoldings.weights,
    benchmark: compared,
    findShares: (name) =>
      market && input.isMarketOfRun ? findSharesOutstanding(market, name, runHoldings.weights.day) : null,
    risk: measured?.risk ?? null,
    activeRisk: measured?.active ?? null,
  });
}

/** Returns the latest shares outstanding of a security on or before a day. Returns null if the market has none. */
function findSharesOutstanding(market: MarketData, name: string, day: Day): number | null {
  const shares = market.fields.get('SHARES_OUTSTANDING');
  const column = market.identifiers.indexOf(name);
  if (!shares || column < 0) return null;
  for (let row = findLastAtMost(market.dates, day); row >= 0; row--) {
    const value = shares[row * market.identifiers.length + column]!;
    if (value === value) return value;
  }
  return null;
}

/**
 * Checks limits over a stored run. @throws Refusal NO_DATA_IN_RANGE, VALIDATION_FAILED for a constraint that does not
 * concern holdings
 */
function showLimits(input: InputOfView<'limits'>, { report }: TaskControl): ReturnType<typeof createLimitsView> {
  const { columns, limits, by, market: handle } = input;
  const market = handle && openCachedMarket(handle);
  return useRunFile(columns, (run) => {
    const issuers = market !== null && 'rule' in limits ? listIssuerSpells(market, by) : null;
    return createLimitsView(run, {
      window: createWindow(input),
      limits: 'rule' in limits ? limits : { rowsOn: createRowsByDay(limits.rows, run.header, market) },
      by,
      openIssuers: issuers && (() => createGroupsByDay(run.header.names, issuers)),
      keep: getFigures(columns, handle),
      onDate: () => report(0),
      findings: [
        ...input.findings,
        ...(issuers ? countSeparateIssuers(run, listGroupSpells(market!, by), by) : []), // a grouping by issuers requires a market
        ...('rule' in limits
          ? []
          : [
              ...listRowFindings(limits.rows, createRowWatch(run, market)),
              ...findMissingInputs(limits.rows, run, market),
            ]),
      ],
    });
  });
}

/** Warns of inputs of constraints that are missing for holdings on the last date of a run. */
function findMissingInputs(rows: readonly ConstraintRow[], run: RunColumns, market: MarketData | null): Finding[] {
  if (market === null) return [];
  const { names } = run.header;
  const days = run.i32('days');
  const weights = run.f64('weights', (days.length - 1) * names.length, days.length * names.length);
  const heldFlags = Uint8Array.from(weights, (weight) => (weight === 0 ? 0 : 1));
  const findings: Finding[] = [];
  const report = (lack: MissingValues, position: number): void => {
    const values = lack.values.map((value, place) => (heldFlags[place] === 1 ? value : 0));
    const missingValues = listMissingValues({ ...lack, values }, { identifiers: names, weights });
    const { identifiers } = missingValues;
    if (identifiers.length === 0) return;
    const count = heldFlags.reduce((sum, is) => sum + is, 0);
    const message = `On ${formatDay(days.at(-1)!)} ${describeLackingValues(lack, missingValues, { count, whole: 'the portfolio' })}`;
    const { id } = rows[position]!;
    findings.push({
      severity: 'warning',
      code: 'NO_WEIGHT_DATA',
      message,
      path: `rows[${position}].params.field`,
      row_id: id === '' ? null : id,
      count: identifiers.length,
      places: identifiers.slice(0, 5),
    });
  };
  createRowsByDay(rows, run.header, market, report)(days.at(-1)!, heldFlags);
  return findings;
}

const createRowWatch = (run: RunColumns, market: MarketData | null): RowWatch => ({
  names: run.header.names,
  market,
  day: run.i32('days').at(-1)!,
});

/** Counts securities that are their own issuers on the last date of a run. */
function countSeparateIssuers(run: RunColumns, groupOf: GroupOfDay, by: string): Finding[] {
  const { names } = run.header;
  const day = run.i32('days').at(-1)!;
  const separateIssuers = names.filter((name) => groupOf(name, day).group === UNCLASSIFIED);
  if (separateIssuers.length === 0) return [];
  const message = `${separateIssuers.length} of ${names.length} securities have no ${by} on ${formatDay(day)} and count as their own issuers.`;
  return [
    {
      severity: 'warning',
      code: 'UNKNOWN_FIELD_NAME',
      message,
      path: 'by',
      count: separateIssuers.length,
      places: separateIssuers.slice(0, 5),
    },
  ];
}

/**
 * Converts constraints of the optimiser to daily limits. If no constraint reads a datapoint, the limits are built again
 * only when a new security is held. A constraint without a scope covers the securities held so far, and their groups,
 * because later data must not change earlier days.
 */
function createRowsByDay(
  rows: readonly ConstraintRow[],
  header: RunHeader,
  market: MarketData | null,
  missing?: WatchedContext['missing'],
): (day: Day, heldFlags: Uint8Array) => readonly LimitRow[] {
  if (market === null) {
    let latestRows: { readonly count: number; readonly rows: readonly LimitRow[] } | undefined;
    return (_day, heldFlags) => {
      const count = heldFlags.reduce((sum, is) => sum + is, 0);
      if (latestRows?.count === count) return latestRows.rows;
      const isHeldName = (name: number) => heldFlags[name] === 1;
      const context = {
        identifiers: header.names,
        numbers: throwUndeclaredReadOfLimits,
        categories: throwUndeclaredReadOfLimits,
        covers: isHeldName,
      };
      latestRows = { count, rows: createLimitRows(rows, context) };
      return latestRows.rows;
    };
  }
  const sm = openMarketOn({ market, calendars: openCachedCalendars(header.closures), code: header.calendar });
  const treatment = restoreTreatment(header.treatment);
  const sections = createIndexCrossSections({ market: sm, treatment, currency: readSecurityCurrency(header) });
  const placedNames = header.names
    .map((name, position) => ({ position, column: sm.columnOf(name) }))
    .filter(({ column }) => column >= 0)
    .toSorted((a, b) => a.column - b.column);
  const columns = Int32Array.from(placedNames, ({ column }) => column);
  return (day, heldFlags) => {
    const session = findLastAtMost(sm.sessions, day);
    const { numbers, categories } = readDatapoints(sections.at(session, columns), columns);
    const context: WatchedContext = {
      identifiers: header.names,
      covers: (name) => heldFlags[name] === 1,
      ...(missing ? { missing } : {}),
      numbers(field) {
        const valuesByName = new Float64Array(header.names.length).fill(NaN);
        numbers(field).forEach((value, k) => (valuesByName[placedNames[k]!.position] = value));
        return valuesByName;
      },
      categories(field) {
        const textsByName: (string | null)[] = header.names.map(() => null);
        categories(field).forEach((value, k) => (textsByName[placedNames[k]!.position] = value));
        return textsByName;
      },
    };
    return createLimitRows(rows, context);
  };
}

function throwUndeclaredReadOfLimits(field: string): never {
  throw new Error(`a row read ${field}, which no parameter named`);
}

/** Computes the dividend points of a stored run. @throws Refusal NO_DATA_IN_RANGE, VARIANT_NOT_AVAILABLE */
function showDividendPoints({ columns, market: handle, ...query }: InputOfView<'dividend-points'>): object {
  const market = openCachedMarket(handle);
  if (market.adjustment === 'total')
    throw new Refusal(
      'VARIANT_NOT_AVAILABLE',
      'The prices of the store include dividends, so paid dividends cannot be derived from them.',
    );
  return useRunFile(columns, (run) => {
    const sm = openMarketOn({ market, calendars: openCachedCalendars(run.header.closures), code: run.header.calendar });
    return createDividendPointsView(run, { window: createWindow(query), ...computeRunFractions(run, sm) });
  });
}

/**
 * Returns the series that a performance view measures. Default: the index if a variant is requested, otherwise the
 * portfolio.
 * @throws Refusal VALIDATION_FAILED for a variant of the portfolio
 */
function selectMeasuredSeries({ of, variant }: Pick<InputOfView<'performance'>, 'of' | 'variant'>) {
  if (of === 'portfolio' && variant !== undefined) {
    const message = `The portfolio has only the return of its run; variant ${variant} belongs to the index.`;
    const finding = { severity: 'error', code: 'NOT_IN_CHOICES', message, path: 'of', accepted: ['index'] } as const;
    assertNoErrors('query', [finding]);
  }
  return { of: of ?? (variant === undefined ? 'portfolio' : 'index'), variant: variant ?? null } as const;
}

/** Computation of a view from the columns of a run, and its output. */
interface RunView<N extends RunViewName> {
  show(input: InputOfView<N>, control: TaskControl): ComputedView | Promise<ComputedView>;
  /** Writes a table of the view in the requested format, if its route offers formats other than JSON. */
  file?(input: InputOfView<N>, control: TaskControl): Uint8Array | Promise<Uint8Array>;
}

/**
 * All views of a stored run by name. Compilation fails for a route whose view has no entry; see "Adding a view" in
 * docs/CONTRIBUTING.md.
 */
export const RUN_VIEWS: { readonly [N in RunViewName]: RunView<N> } = {
  attribution: {
    show: (query) =>
      computeRunView(query, (run) => addPartContributions(createAttributionView(run, createWindow(query)))),
  },
  asset: { show: (query) => computeRunView(query, (run) => createAssetView(run, query.identifier)) },
  summary: { show: (query) => computeRunView(query, createSummaryView) },
  overview: {
    show(query) {
      const run = useRunFile(query.columns, (columns) => summariseRun(columns, readPlan(query.plan)));
      return { bytes: estimateOverviewBytes(run), write: (json) => writeOverview(json, run) };
    },
  },
  metrics: { show: (query) => computeRunView(query, createMetricsView) },
  performance: {
    show(query) {
      const performance = useRunFile(query.columns, (run) =>
        createPerformance(run, { ...selectMeasuredSeries(query), ...createWindow(query) }),
      );
      return { write: (json) => writePerformance(json, performance) };
    },
  },
  rebalances: { show: (query) => computeRunView(query, listRebalances) },
  rebalance: { show: (query) => computeRunView(query, (run) => createRebalanceView(run, query.date)) },
  levels: {
    show(query) {
      const levels = useRunFile(query.columns, (run) =>
        roundLevels(run, { variant: query.variant ?? null, ...createWindow(query) }),
      );
      return { write: (json) => writeLevels(json, levels) };
    },
  },
  actions: {
    show: (query) => createObjectView(showActions(query)),
    file: (query) =>
      encodeText(query.table === 'constituents' ? showProForma(query) : formatActionsCsv(showActions(query))),
  },
  'dividend-points': { show: (query) => createObjectView(showDividendPoints(query)) },
  exposures: {
    async show(query, control) {
      const exposures = await showExposures(query, control);
      return { bytes: estimateExposuresBytes(exposures), write: (json) => writeExposures(json, exposures) };
    },
    async file(query, control) {
      const table = query.table ?? (query.fields.length > 0 ? 'fields' : 'groups');
      return createExposuresFile(await showExposures(query, control), table, getFormat(query));
    },
  },
  limits: {
    show: (query, control) => createObjectView(showLimits(query, control)),
    file: (query, control) => createLimitsFile(showLimits(query, control), query.table ?? 'state', getFormat(query)),
  },
  scenarios: {
    show: (query) => createObjectView(showScenarios(query)),
    file: (query) => createScenariosFile(showScenarios(query), query.table ?? 'scenarios', getFormat(query)),
  },
  compare: {
    async show(compareViewInput) {
      const comparison = await showComparison(compareViewInput);
      return {
        bytes: estimateComparisonBytes(comparison),
        write: (json) => writeComparison(json, comparison, compareViewInput),
      };
    },
    file: async (compareViewInput) => encodeText(formatComparisonCsv(await showComparison(compareViewInput))),
  },
  weights: { show: async (query, control) => createObjectView(await showWeights(query, control)) },
  'factor-risk': { show: async (query, control) => createObjectView(await showFactorRisk(query, control)) },
  'total-risk': {
    show: async (query, control) => createObjectView(await showFactorRisk({ ...query, benchmark: null }, control)),
  },
  'factor-attribution': { show: (query) => createObjectView(showFactorAttribution(query)) },
  groups: { show: async (query) => createObjectView(await showGroups(query)) },
  reconcile: { show: async (query, control) => createObjectView(await showReconciliation(query, control)) },
  'rolling-risk': { show: showRollingRisk },
};

/** Returns a view that is written as one JSON object. */
const createObjectView = (view: object): ComputedView => ({ write: (json) => json.value(view) });

const computeRunView = ({ columns }: { readonly columns: string }, view: (run: RunColumns) => object) =>
  createObjectView(useRunFile(columns, view));

const encodeText = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Returns the format of a file. */
function getFormat<F extends string>({ format }: { readonly format?: F | 'json' | undefined }): Exclude<F, 'json'> {
  return format as Exclude<F, 'json'>; // the caller requests a file format
}

/** Computes a view of stored runs from ranges of their columns, and writes it as bytes. */
export const viewRun: Task<'view-run'> = async (input, control) => {
  const view = RUN_VIEWS[input.view] as RunView<RunViewName>; // the catalogue has the view under the name in the input
  return copyWithHash(await computeBytes(view, input, control));
};

async function computeBytes(
  view: RunView<RunViewName>,
  input: RunViewInput,
  control: TaskControl,
): Promise<Uint8Array> {
  if (view.file !== undefined && (input.format ?? 'json') !== 'json') return view.file(input, control);
  const { bytes, write } = await view.show(input, control);
  const json = wrapStoppable(createJsonWriter(bytes), control);
  write(json);
  return json.bytes();
}
