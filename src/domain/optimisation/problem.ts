import { type DenseAlgebra, plainAlgebra } from '#kernels/optimisation/factors/algebra.js';
import {
  computeMetricDiagonal,
  computeMetricSquare,
  type Metric,
  multiplyMetric,
} from '#kernels/optimisation/program/metric.js';
import { type Kink, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { raiseToPower } from '#kernels/power.js';
import {
  type ConstraintClass,
  type ConstraintRow,
  DEFAULT_PRIORITY,
  describeLackingValues,
  hasNoParameter,
  type Limit,
  listMissingValues,
  type NonConvexRow,
  type ProgramRow,
  type ReferenceName,
  type ReferencePortfolio,
  type RowContext,
} from '../definition/constraint-class.js';
import { findRiskless } from '../base/numbers.js';
import { excludeConstraint, findConstraintClass, fullInvestment, longOnly } from '../definition/constraints.js';
import {
  type Goal,
  type Objective,
  type Robustness,
  TRACKING_OBJECTIVE,
  type TradeCosts,
  formatKeys,
} from '../definition/objectives.js';
import {
  computeTailSlopes,
  createTailGoal,
  type ScenarioTerms,
  type TailGoal,
  type TailMeasure,
  type WeightedScenarios,
} from '../definition/tail-risk.js';

/** Returns P x, [N], for the metric P. */
export function applyMetric(metric: Metric, x: Float64Array): Float64Array {
  const out = new Float64Array(x.length);
  multiplyMetric(metric, x, out);
  return out;
}

/** Access to datapoints of the securities as of the rebalance. */
export type Datapoints = Pick<RowContext, 'numbers' | 'categories' | 'medianValueTraded'>;

/** Data from which the rows of a problem are created. */
interface ContextInput {
  /** Securities in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Index weights, [N]. */
  readonly index: Float64Array;
  /** Weights of the previous solution; null if there is none yet. */
  readonly previous: ReferencePortfolio | null;
  /** Weights just before the trades; null if there are no holdings yet. Default: the index weights. */
  readonly held?: ReferencePortfolio | null;
  /** Annualised expected returns, [N]; null if there are none. */
  readonly expectedReturns?: Float64Array | null;
  /** Annualised covariance. */
  readonly metric: Metric;
  readonly datapoints: Datapoints;
}

interface RowReports extends Pick<RowContext, 'tail'> {
  /** Receives a message about missing values of a row. */
  warn(message: string): void;
}

function createRowContext(
  { identifiers, index, previous, held, expectedReturns = null, metric, datapoints }: ContextInput,
  { tail, warn }: RowReports,
): RowContext {
  let product: Float64Array | undefined;
  const indexPortfolio: ReferencePortfolio = { weights: index, outside: 0 };
  const portfolios: Record<ReferenceName, ReferencePortfolio | null> = {
    index: indexPortfolio,
    previous: previous ?? indexPortfolio,
    held: held === undefined ? indexPortfolio : held,
  };
  return {
    ...datapoints,
    identifiers,
    index,
    reference: (reference) => portfolios[reference],
    covarianceTimesIndex: () => (product ??= applyMetric(metric, index)),
    expectedReturns() {
      if (expectedReturns === null) warn('The constraint has no effect, because there are no expected returns.');
      return expectedReturns;
    },
    tail,
    missing(lack) {
      const missingSecurities = listMissingValues(lack, { identifiers, weights: index });
      if (missingSecurities.identifiers.length === 0) return;
      warn(describeLackingValues(lack, missingSecurities, { count: identifiers.length, whole: 'the index' }));
    },
  };
}

/** Cutting plane of a tail: slopes'w is at most the tail average at w. */
export interface TailCut {
  readonly goal: TailGoal;
  /** [N] */
  readonly slopes: Float64Array;
}

/** Tails in the rows of a problem, with the cutting planes found so far. The planes are valid for all limits. */
export interface TailCuts {
  /** Returns the tail goal for given terms. Equal terms return the identical object. */
  goal(measure: TailMeasure, confidence: number, terms: ScenarioTerms): TailGoal;
  /** Known planes, in the order in which they were found. */
  readonly known: readonly TailCut[];
  /**
   * Adds the tangent plane of a tail at some weights.
   * @cost T N
   */
  add(goal: TailGoal, weights: Float64Array): TailCut;
  /** Adds a plane that is proven to be below the tail average. */
  hold(cut: TailCut): void;
}

/**
 * Creates the tails of a problem without cutting planes.
 */
function createTailCuts(securityCount: number, scenarios: (terms: ScenarioTerms) => WeightedScenarios): TailCuts {
  const goals = new Map<string, TailGoal>();
  const tailCuts: TailCut[] = [];
  return {
    known: tailCuts,
    goal(measure, confidence, terms) {
      const key = JSON.stringify([measure, confidence, terms]);
      const result = goals.get(key) ?? createTailGoal(measure, confidence, scenarios(terms), securityCount);
      goals.set(key, result);
      return result;
    },
    add(goal, weights) {
      const cut = { goal, slopes: computeTailSlopes(goal, weights) };
      tailCuts.push(cut);
      return cut;
    },
    hold: (cut) => void tailCuts.push(cut),
  };
}

/** Constraint row or default row from which rows of the program come. */
export interface Origin {
  /** Position in the list of the request; null for a default row. */
  readonly index: number | null;
  /** Id in the request, empty without an id. */
  readonly id: string;
  readonly type: string;
  readonly kind: 'eq' | 'ineq';
  readonly unit: 'fraction' | 'count' | 'value';
  /**
   * Name in messages: `{type}[{id or position}]`. For a default row `{type}[default]`, for securities without a risk
   * estimate `Exclude[uncovered]`.
   */
  readonly name: string;
  /** Penalty per unit of violation. Null for a row that must hold. */
  readonly soft: number | null;
  /** Order of relaxation. Rows with higher numbers are relaxed first, rows with 0 never. */
  readonly priority: number;
  /** True if the request states a priority above 0. A run over time may then relax the row. */
  readonly givesWay: boolean;
  /** Parameters including defaults; empty for a default row. */
  readonly params: Readonly<Record<string, unknown>>;
}

export interface RowWithOrigin {
  readonly origin: Origin;
  readonly row: ProgramRow;
}

/** Warning about a difference between the problem and the request. */
export interface ProblemWarning {
  readonly message: string;
  /** Path in the request or definition. */
  readonly path: string;
}

export interface ProblemInput extends ContextInput {
  /** Validated rows, as in the request. */
  readonly rows: readonly ConstraintRow[];
  /** Objective of the weights. Default: minimum tracking error. */
  readonly objective?: Objective;
  readonly costs?: TradeCosts | null;
  /** Uncertainty of the estimates; null if they are exact. */
  readonly robustness?: Robustness | null;
  /**
   * Returns the returns of the securities by scenario. Absent if neither objective nor rows need scenarios.
   */
  readonly scenarios?: (terms: ScenarioTerms) => WeightedScenarios;
  /** Engine for objectives that solve another problem first. Default: plain loops. */
  readonly algebra?: DenseAlgebra;
  /** Cutting planes of tails, from an otherwise equal problem. Default: no planes yet. */
  readonly tails?: TailCuts;
  /** Positions of securities that may not be held, regardless of the rows. */
  readonly excluded?: readonly number[];
  readonly warnings?: readonly ProblemWarning[];
}

/** Optimisation problem: objective, and every constraint as rows of a program. */
export interface Problem {
  readonly identifiers: readonly string[];
  readonly index: Float64Array;
  readonly previous: ReferencePortfolio | null;
  readonly metric: Metric;
  readonly objective: Objective;
  /** Objective in the form that a solver optimises. */
  readonly goal: Goal;
  readonly costs: TradeCosts | null;
  readonly robustness: Robustness | null;
  readonly expectedReturns: Float64Array | null;
  /**
   * Rows of the request in order, then default rows. If a constraint covers several members, it occurs once for each.
   */
  readonly rows: readonly RowWithOrigin[];
  /** Origins of the rows: one per constraint of the request and per default row, in that order. */
  readonly origins: readonly Origin[];
  /** Tails that rows limit, with their known cutting planes. */
  readonly tails: TailCuts;
  readonly warnings: readonly ProblemWarning[];
  /** Returns the problem with changed parameters of some rows, and with other rows widened. */
  withParameters(changes: readonly ParameterChange[]): Problem;
  /** Returns the problem with a changed list of rows of equal length. */
  withRows(rows: readonly ConstraintRow[]): Problem;
  without(origin: Origin): Problem;
}

export interface ParameterChange {
  readonly origin: Origin;
  /**
   * Parameter to change. Null if no parameter determines the limits of the row; the limits are then widened by `to`.
   */
  readonly parameter: string | null;
  readonly to: number;
}

/** Creates a problem: expands the rows of the request and adds the full-investment defaults. */
export function createProblem(input: ProblemInput): Problem {
  const warnings: ProblemWarning[] = [...(input.warnings ?? [])];
  const tails =
    input.tails ?? createTailCuts(input.identifiers.length, createScenarioSource(input, 'rows of the problem'));
  let requestingRow = 0;
  const context = createRowContext(input, {
    tail: tails.goal,
    warn: (message) => warnings.push({ message, path: `constraints[${requestingRow}].params` }),
  });
  const rows: RowWithOrigin[] = [];
  const origins: Origin[] = [];
  const placeRows = (origin: Origin, expanded: readonly ProgramRow[]) => {
    if (expanded.length === 0) return;
    origins.push(origin);
    for (const row of expanded) rows.push({ origin, row });
  };
  const statedRows = input.rows.map((row, index): StatedRow => {
    const entry = findConstraintClass(row.type);
    if (entry === undefined) throw new Error(`constraint class ${row.type} was not validated`);
    const params = entry.params.parse(row.params);
    requestingRow = index;
    placeRows(createOrigin(row, index, params), entry.toRows(params, context));
    return { entry, params };
  });
  for (const { entry, names } of listDefaults(statedRows, input)) {
    const expandedRows = entry.toRows({ soft: null, priority: DEFAULT_PRIORITY }, context);
    const narrowedRows =
      names === null ? expandedRows : expandedRows.filter((row) => row.form !== 'name' || names[row.name] === 1);
    placeRows(createImplicitOrigin(entry), narrowedRows);
  }
  const { identifiers, index, previous, metric, objective = TRACKING_OBJECTIVE, excluded = [] } = input;
  const exclude = (names: string[], name: 'uncovered' | 'riskless') => {
    if (names.length > 0)
      placeRows(
        createImplicitOrigin(excludeConstraint, name),
        excludeConstraint.toRows({ identifiers: names, soft: null, priority: 0 }, context),
      );
  };
  exclude(
    excluded.map((name) => identifiers[name]!),
    'uncovered',
  );
  if (objective.entry.excludesRiskless) {
    const eligibleFlags = markEligible(identifiers.length, rows);
    const isRiskless = findRiskless(computeMetricDiagonal(metric));
    const names = identifiers.filter((_, i) => eligibleFlags[i] === 1 && isRiskless[i] === 1);
    exclude(names, 'riskless');
    if (names.length > 0)
      warnings.push({
        message: `${names.length} of ${identifiers.length} securities have a variance of 0, and therefore no weight: ${formatKeys(names)}.`,
        path: 'objective',
      });
  }
  const { costs = null, robustness = null, expectedReturns = null } = input;
  return {
    identifiers,
    index,
    previous,
    metric,
    objective,
    goal: createGoal(input, { objective, rows, warnings }),
    costs,
    robustness,
    expectedReturns,
    rows,
    origins,
    tails,
    warnings,
    withRows: (others) => createProblem({ ...input, tails, rows: others }),
    without: ({ index: left }) => createProblem({ ...input, tails, rows: input.rows.filter((_, row) => row !== left) }),
    withParameters: (changes) =>
      widenRows(createProblem({ ...input, tails, rows: listChangedRows(input.rows, changes) }), changes),
  };
}

interface ProblemStatement {
  readonly objective: Objective;
  readonly rows: readonly RowWithOrigin[];
  readonly warnings: ProblemWarning[];
}

/**
 * Returns the source of scenarios of a problem.
 * @param who caller, for the error without scenarios
 */
function createScenarioSource({ scenarios }: ProblemInput, who: string): (terms: ScenarioTerms) => WeightedScenarios {
  if (scenarios !== undefined) return scenarios;
  return () => {
    throw new Error(`the ${who} were not given the scenarios that they need`);
  };
}

function createGoal(input: ProblemInput, { objective: { entry, params }, rows, warnings }: ProblemStatement): Goal {
  const { identifiers, index, metric, datapoints, expectedReturns, algebra = plainAlgebra } = input;
  return entry.toGoal(params, {
    identifiers,
    index,
    metric,
    algebra,
    eligible: markEligible(identifiers.length, rows),
    categories: datapoints.categories,
    expectedReturns() {
      if (expectedReturns === undefined || expectedReturns === null)
        throw new Error(`the objective ${entry.type} was not given the expected returns it needs`);
      return expectedReturns;
    },
    scenarios: createScenarioSource(input, `weights of the objective ${entry.type}`),
    warn: (message, at = '') => warnings.push({ message, path: `objective${at}` }),
  });
}

/** Returns a mask, [N]: 0 for securities that a row without a penalty keeps at or below zero, otherwise 1. */
function markEligible(n: number, rows: readonly RowWithOrigin[]): Uint8Array {
  const eligibleFlags = new Uint8Array(n).fill(1);
  for (const { row, origin } of rows)
    if (row.form === 'name' && origin.soft === null && row.upper !== null && row.upper.value <= 0)
      eligibleFlags[row.name] = 0;
  return eligibleFlags;
}

function listChangedRows(rows: readonly ConstraintRow[], changes: readonly ParameterChange[]): ConstraintRow[] {
  return rows.map((row, index) => {
    const rowChanges = changes.filter(({ origin, parameter }) => origin.index === index && parameter !== null);
    return rowChanges.length === 0
      ? row
      : {
          ...row,
          params: {
            ...row.params,
            ...Object.fromEntries(rowChanges.map(({ parameter, to }) => [parameter, to])),
          },
        };
  });
}

/** Widens rows of the problem. An equality becomes a pair of inequalities. */
function widenRows(problem: Problem, changes: readonly ParameterChange[]): Problem {
  const widths = new Map(
    changes.filter(({ parameter }) => parameter === null).map(({ origin, to }) => [origin.index, to]),
  );
  if (widths.size === 0) return problem;
  const widenedOrigins = new Map(
    problem.origins.map((origin): [Origin, Origin] => [
      origin,
      widths.has(origin.index) ? { ...origin, kind: 'ineq' } : origin,
    ]),
  );
  const rows = problem.rows.map(({ origin, row }) => ({
    origin: widenedOrigins.get(origin)!,
    row: widenRow(row, widths.get(origin.index) ?? 0),
  }));
  return { ...problem, rows, origins: [...widenedOrigins.values()] };
}

function widenRow(row: ProgramRow, by: number): ProgramRow {
  if (row.form !== 'name' && row.form !== 'linear') return row;
  const roundOutward = (limit: Limit | null, side: 1 | -1) =>
    limit === null || !hasNoParameter(limit) ? limit : { ...limit, value: limit.value + side * by };
  return { ...row, lower: roundOutward(row.lower, -1), upper: roundOutward(row.upper, 1) };
}

function createOrigin(row: ConstraintRow, index: number, params: Readonly<Record<string, unknown>>): Origin {
  const { kind, unit } = findConstraintClass(row.type)!; // the class was found before
  const { soft, priority } = params as { soft: number | null; priority: number }; // every class has these parameters
  const givesWay = row.params['priority'] !== undefined && priority > 0;
  return {
    index,
    id: row.id,
    type: row.type,
    kind,
    unit,
    name: `${row.type}[${row.id === '' ? index : row.id}]`,
    soft,
    priority,
    givesWay,
    params,
  };
}

function createImplicitOrigin(
  { type, kind, unit }: Pick<ConstraintClass, 'type' | 'kind' | 'unit'>,
  name: 'default' | 'uncovered' | 'riskless' = 'default',
): Origin {
  return {
    index: null,
    id: '',
    type,
    kind,
    unit,
    name: `${type}[${name}]`,
    soft: null,
    priority: DEFAULT_PRIORITY,
    givesWay: false,
    params: {},
  };
}

interface DefaultRow {
  readonly entry: typeof fullInvestment;
  /** 1 for securities that the default covers, [N]. Null for a default on the whole portfolio. */
  readonly names: Uint8Array | null;
}

/** Row of the request with its class and its parsed parameters. */
interface StatedRow {
  readonly entry: ConstraintClass;
  readonly params: ReturnType<ConstraintClass['params']['parse']>;
}

/** Returns the default rows that no row of the request replaces. */
function listDefaults(rows: readonly StatedRow[], { identifiers }: Pick<ProblemInput, 'identifiers'>): DefaultRow[] {
  const defaults: DefaultRow[] = [];
  if (!rows.some(({ entry }) => entry.replacesInvestment)) defaults.push({ entry: fullInvestment, names: null });
  const longOnlyFlags = new Uint8Array(identifiers.length).fill(1);
  for (const { entry, params } of rows) {
    if (entry.replacesLongOnly === undefined) continue;
    const listed = entry.replacesLongOnly(params);
    const listedIdentifiers = listed && new Set(listed);
    identifiers.forEach((identifier, name) => {
      if (listedIdentifiers === null || listedIdentifiers.has(identifier)) longOnlyFlags[name] = 0;
    });
  }
  if (longOnlyFlags.includes(1)) defaults.push({ entry: longOnly, names: longOnlyFlags });
  return defaults;
}

/**
 * Returns the non-convex rows: limits on numbers of securities, minimum weights of holdings, and concentration limits.
 */
export function listNonConvexRows({ rows }: Problem): { readonly origin: Origin; readonly row: NonConvexRow }[] {
  return rows.flatMap(({ origin, row }) =>
    row.form === 'count' || row.form === 'threshold' || row.form === 'concentration' ? [{ origin, row }] : [],
  );
}

/** Returns the label of one side of a row: `{type}[{id or position}]:{side}`, followed by its group or identifier. */
export function describeRow({ origin, row }: RowWithOrigin, side: 'lower' | 'upper' | 'eq'): string {
  return `${origin.name}:${side}${row.member === null ? '' : `:${row.member}`}`;
}

/** Returns true if a row measures trades from the weights just before the rebalance. */
export function measuresHeldWeights({ params }: Pick<ConstraintRow, 'params'>): boolean {
  return params['reference'] === 'held';
}

/**
 * Returns true if a row limits turnover from the held weights, its turnover includes sales of securities that can no
 * longer be held, and its priority is not 0. Such a row is relaxed by the excess of those sales.
 */
export function countsForcedSales(problem: Problem, origin: Origin): boolean {
  return measuresHeldWeights(origin) && origin.priority > 0 && sumForcedSales(problem, origin) > 0;
}

/**
 * Returns the held weight that must be sold: securities outside the problem, and securities without a risk estimate.
 */
function sumForcedSales({ rows }: Problem, turnover: Origin): number {
  const row = rows.find(({ origin }) => origin === turnover)?.row;
  if (row?.form !== 'distance') return 0;
  const excludedMembers = rows.flatMap(({ origin, row: otherProgramRow }) =>
    origin.index === null && findConstraintClass(origin.type)?.isExclusion === true && otherProgramRow.form === 'name'
      ? [otherProgramRow.name]
      : [],
  );
  return excludedMembers.reduce((sum, name) => sum + Math.abs(row.reference[name]!), row.fixed);
}

type Quadratic = Pick<Program, 'metric' | 'curvature' | 'ridge' | 'centre' | 'linear'>;

/** Returns the gradient of the quadratic objective of a program, [n]. @cost a pass over the metric */
export function computeGradient(
  { metric, curvature, ridge, centre, linear }: Quadratic,
  x: Float64Array,
): Float64Array {
  const offset = x.map((value, i) => value - centre[i]!);
  const force = metric === null || curvature === 0 ? undefined : applyMetric(metric, offset);
  return linear.map((value, i) => value + curvature * (force?.[i] ?? 0) + ridge * offset[i]!);
}

/** Returns the program with the penalties of soft rows and of kink sums multiplied by a factor. */
export function scalePrices(program: Program, scale: number): Program {
  if (scale === 1) return program;
  const { rows, kinks } = program;
  return {
    ...program,
    rows: { ...rows, penalty: rows.penalty.map((penalty) => penalty * scale) },
    kinks: kinks.map((kink) =>
      kink.limit === null
        ? { ...kink, left: kink.left.map((slope) => slope * scale), right: kink.right.map((slope) => slope * scale) }
        : { ...kink, penalty: kink.penalty * scale },
    ),
  };
}

export function addLinearCost(program: Program, costs: TradeCosts | null): Program {
  if (costs === null || costs.linear === 0) return program;
  const kink: Kink = {
    at: costs.reference,
    left: new Float64Array(program.n).fill(-costs.linear),
    right: new Float64Array(program.n).fill(costs.linear),
    limit: null,
    penalty: 1,
  };
  return { ...program, kinks: [...program.kinks, kink] };
}

/** Returns the cost of the trades to some weights, as a fraction of the portfolio value. */
export function computeCost(costs: TradeCosts | null, weights: Float64Array): number {
  if (costs === null) return 0;
  const { linear, impact, reference, fixed } = costs;
  return weights.reduce((sum, weight, i) => {
    const trade = Math.abs(weight - reference[i]!);
    return sum + linear * trade + impact * raiseToPower(trade, 1.5);
  }, fixed);
}

/** Returns the penalty of violated soft rows and of kink sums at some weights. */
export function computePrices(
  { n, rows, kinks }: Pick<Program, 'n' | 'rows' | 'kinks'>,
  weights: Float64Array,
): number {
  let total = 0;
  for (let r = 0; r < rows.count; r++) {
    if (!Number.isFinite(rows.penalty[r]!)) continue;
    let value = 0;
    for (let i = 0; i < n; i++) value += rows.coefficients[r * n + i]! * weights[i]!;
    total += rows.penalty[r]! * Math.max(0, value - rows.upper[r]!, rows.lower[r]! - value);
  }
  for (const kink of kinks) {
    if (kink.limit === null) total += sumKinks(kink, weights);
    else if (Number.isFinite(kink.penalty)) total += kink.penalty * Math.max(0, sumKinks(kink, weights) - kink.limit);
  }
  return total;
}

export interface RowParameterChange {
  readonly origin: Origin;
  /**
   * Parameter to change. Null if no parameter determines the limits of the row; the limits are then widened by `to`.
   */
  readonly parameter: string | null;
  readonly to: number;
}

export interface Solvers {
  readonly solver: Solver;
  readonly algebra: DenseAlgebra;
}

/** Returns the tracking variance (w - b)' Sigma (w - b). */
export function computeTrackingVariance(
  { metric, index }: Pick<Problem, 'metric' | 'index'>,
  weights: Float64Array,
): number {
  return Math.max(
    0,
    computeMetricSquare(
      metric,
      weights.map((weight, i) => weight - index[i]!),
    ),
  );
}
