import type { Metric } from '#kernels/optimisation/program/metric.js';
import { plainAlgebra, type DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import { excludeConstraint } from '../constraints/classes/exclude.js';
import type { ReferencePortfolio } from '../constraints/constraint-class.js';
import { DEFAULT_PRIORITY } from '../constraints/parameters.js';
import { hasNoParameter, type Limit, type NonConvexRow, type ProgramRow } from '../constraints/program-row.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { Goal, TradeCosts } from '../objectives/goal.js';
import { TRACKING_OBJECTIVE, type Objective } from '../objectives/objective.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import type { Robustness } from '../objectives/robustness.js';
import { createRowContext, type ContextInput } from './row-context.js';
import { createTailCuts, type TailCuts } from './tails/tail-cuts.js';

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
   * Returns simple returns of the securities by scenario, [T x N]. Absent if neither objective nor rows need scenarios.
   */
  readonly scenarios?: (terms: ScenarioTerms) => Float64Array;
  /** Engine for objectives that solve another problem first. Default: plain loops. */
  readonly algebra?: DenseAlgebra;
  /** Cutting planes of tails, from an otherwise equal problem. Default: no planes yet. */
  readonly tails?: TailCuts;
  /** Positions of securities that may not be held, regardless of the rows. */
  readonly excluded?: readonly number[];
  /** Warnings from before the problem was created. */
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
  /** Returns the problem without the rows of an origin. */
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
  input.rows.forEach((row, index) => {
    const entry = findConstraintClass(row.type);
    if (entry === undefined) throw new Error(`constraint class ${row.type} was not validated`);
    const params = entry.params.parse(row.params);
    requestingRow = index;
    placeRows(createOrigin(row, index, params), entry.toRows(params, context));
  });
  for (const { type, names } of listDefaults(input)) {
    const entry = findConstraintClass(type)!; // the catalogue contains both classes
    const expandedRows = entry.toRows(entry.params.parse({}), context);
    const narrowedRows =
      names === null ? expandedRows : expandedRows.filter((row) => row.form !== 'name' || names[row.name] === 1);
    placeRows(createImplicitOrigin(type, entry.kind, entry.unit), narrowedRows);
  }
  const { excluded = [] } = input;
  if (excluded.length > 0) {
    const { type, kind, unit, toRows } = excludeConstraint;
    const names = excluded.map((name) => input.identifiers[name]!);
    placeRows(
      createImplicitOrigin(type, kind, unit, 'uncovered'),
      toRows({ identifiers: names, soft: null, priority: 0 }, context),
    );
  }
  const { identifiers, index, previous, metric, objective = TRACKING_OBJECTIVE } = input;
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
function createScenarioSource({ scenarios }: ProblemInput, who: string): (terms: ScenarioTerms) => Float64Array {
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
  type: string,
  kind: Origin['kind'],
  unit: Origin['unit'],
  name: 'default' | 'uncovered' = 'default',
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
  readonly type: 'FullInvestment' | 'LongOnly';
  /** 1 for securities that the default covers, [N]. Null for a default on the whole portfolio. */
  readonly names: Uint8Array | null;
}

/** Returns the default rows that no row of the request replaces. */
function listDefaults({ rows, identifiers }: ProblemInput): DefaultRow[] {
  const hasRowOfType = (...types: string[]) => rows.some(({ type }) => types.includes(type));
  const defaults: DefaultRow[] = [];
  if (!hasRowOfType('FullInvestment', 'WeightSum')) defaults.push({ type: 'FullInvestment', names: null });
  if (hasRowOfType('LongOnly')) return defaults;
  const longOnlyFlags = new Uint8Array(identifiers.length).fill(1);
  for (const { type, params } of rows) {
    const { lower, identifiers: listed } = params as { lower?: number; identifiers?: string[] | null }; // parameters of PositionBounds have been validated
    if (type !== 'PositionBounds' || lower === undefined || lower >= 0) continue;
    const listedIdentifiers = listed === undefined || listed === null ? null : new Set(listed);
    identifiers.forEach((identifier, name) => {
      if (listedIdentifiers === null || listedIdentifiers.has(identifier)) longOnlyFlags[name] = 0;
    });
  }
  if (longOnlyFlags.includes(1)) defaults.push({ type: 'LongOnly', names: longOnlyFlags });
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
