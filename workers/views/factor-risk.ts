import { compareText, type Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal } from '#domain/base/refusals.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';
import { openMarketOn } from '#domain/books/window.js';
import type { MarketData } from '#domain/market/market-data.js';
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
import type { TaskControl } from '#jobs/tasks/messages.js';
import type { FactorMeasure, FactorModelFile, InputOfView, MeasuringModel } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createFactorAttributionView } from '#views/attribution.js';
import type { ListedScenarios } from '#views/exports/view-files.js';
import { decomposeRisk, type MeasuredFactors } from '#views/run-risk.js';
import { type ActiveRisk, createWeightsView, type HeldRisk, type HeldWeights } from '#views/weights.js';
import { openCachedCalendars, openCachedMarket } from '../input/markets.js';
import { runOnEngine } from '../input/numerics.js';
import { openModels, readStoredDoubles } from '../input/risk-models.js';
import { useRunFile } from '../run-files.js';
import { openCompared } from './comparison.js';
import {
  type ComparedWeights,
  createHoldingDatapoints,
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
  sumAbsent,
} from './holding-risk.js';
import { createWindow } from './run-view.js';

/** Attributes the return of a run to factors. */
export function showFactorAttribution({ columns, market, model, ...query }: InputOfView<'factor-attribution'>): object {
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
  { names, held, day }: Pick<HeldWeights, 'names' | 'held' | 'day'>,
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
export function showFactorRisk(
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
export function showScenarios({ columns, request, market: handle }: InputOfView<'scenarios'>): ListedScenarios {
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
export async function showWeights(input: InputOfView<'weights'>, { report }: TaskControl): Promise<object> {
  const onPart = (): void => report(0);
  const { columns, as_of: asOf = null, risk, model = null, estimator, benchmark, market: handle } = input;
  const runHoldings = useRunFile(columns, (run) => readHoldings(run, asOf));
  const market = handle && openCachedMarket(handle);
  const { compared, measured } = await runOnEngine((engine) => {
    const otherComparedBenchmark =
      benchmark && openCompared({ ...benchmark, onPart }, requireMarket(market), runHoldings.header);
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

function requireMarket(market: MarketData | null): MarketData {
  if (!market) throw new Refusal('NO_DATA_SOURCE', 'No data store is active to run the benchmark on.');
  return market;
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
