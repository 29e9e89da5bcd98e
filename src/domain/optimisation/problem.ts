import type { Metric } from '#kernels/optimisation/program/metric.js';
import { plainAlgebra, type DenseAlgebra } from '#kernels/optimisation/factors/algebra.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import { exclude } from '../constraints/classes/exclude.js';
import type { ReferencePortfolio } from '../constraints/constraint-class.js';
import { DEFAULT_PRIORITY } from '../constraints/parameters.js';
import { isStuck, type Limit, type NonConvexRow, type ProgramRow } from '../constraints/program-row.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { Goal, TradeCosts } from '../objectives/goal.js';
import { TRACKING, type Objective } from '../objectives/objective.js';
import type { ScenarioTerms } from '../objectives/scenario-terms.js';
import type { Robustness } from '../objectives/robustness.js';
import { createRowContext, type ContextInput } from './row-context.js';
import { createTailCuts, type TailCuts } from './tails/tail-cuts.js';

/** Origin of a row of the problem, with its name. */
export interface Origin {
  /** Position among the client's rows; null for an implicit row. */
  readonly index: number | null;
  /** Client's id, empty if there is none. */
  readonly id: string;
  readonly type: string;
  readonly kind: 'eq' | 'ineq';
  readonly unit: 'fraction' | 'count' | 'value';
  /** `{type}[{id or position}]`, `[default]` for an implicit row. */
  readonly name: string;
  /** Price per unit of violation; null for a hard row. */
  readonly soft: number | null;
  /** Order of relaxation: higher numbers before lower ones, 0 never. */
  readonly priority: number;
  /** True if the client set a priority: the row may then be relaxed in a run over time. */
  readonly givesWay: boolean;
  /** Parameters with their defaults; empty for an implicit row. */
  readonly params: Readonly<Record<string, unknown>>;
}

export interface PlacedRow {
  readonly origin: Origin;
  readonly row: ProgramRow;
}

/** Difference of a problem from the request. */
export interface ProblemWarning {
  readonly message: string;
  /** Path of its subject in the problem's source. */
  readonly path: string;
}

export interface ProblemInput extends ContextInput {
  /** Valid rows, as the client wrote them. */
  readonly rows: readonly ConstraintRow[];
  /** Objective of the weights. Default: the least tracking error. */
  readonly objective?: Objective;
  /** Annualised, [N]; null if the objective needs none. */
  readonly expectedReturns?: Float64Array | null;
  readonly costs?: TradeCosts | null;
  /** Uncertainty of the estimates; null if they are exact. */
  readonly robustness?: Robustness | null;
  /** Returns simple returns of the securities by scenario, [T x N]; absent if objective and rows need none. */
  readonly scenarios?: (terms: ScenarioTerms) => Float64Array;
  /** Factors matrices for objectives that solve a preliminary problem. Default: plain loops. */
  readonly algebra?: DenseAlgebra;
  /** Tails of rows, taken from a problem that is otherwise equal. Default: new ones. */
  readonly tails?: TailCuts;
  /** Positions of securities that may not be held, regardless of the rows. */
  readonly excluded?: readonly number[];
  /** Earlier warnings. */
  readonly warnings?: readonly ProblemWarning[];
}

/** Objective with every constraint as rows of a program. */
export interface Problem {
  readonly identifiers: readonly string[];
  readonly index: Float64Array;
  readonly previous: ReferencePortfolio | null;
  readonly metric: Metric;
  readonly objective: Objective;
  /** Objective in the terms of a solver. */
  readonly goal: Goal;
  readonly costs: TradeCosts | null;
  readonly robustness: Robustness | null;
  readonly expectedReturns: Float64Array | null;
  /** Rows of the client in order, then the implicit rows. A row occurs once per member to which it expands. */
  readonly rows: readonly PlacedRow[];
  /** One origin per client's row and implicit row, in the same order. */
  readonly origins: readonly Origin[];
  /** Tails that rows limit. */
  readonly tails: TailCuts;
  readonly warnings: readonly ProblemWarning[];
  /** Returns the problem with other parameters in some rows, and others widened. */
  withParameters(changes: readonly ParameterChange[]): Problem;
  /** Returns the problem with other rows. Their number must be the same. */
  withRows(rows: readonly ConstraintRow[]): Problem;
  /** Returns the problem with one of the rows removed. */
  without(origin: Origin): Problem;
}

export interface ParameterChange {
  readonly origin: Origin;
  /** Parameter to change; null to widen by `to` the limits of the row, if no parameter determines them. */
  readonly parameter: string | null;
  readonly to: number;
}

/** Expands the client's rows and adds the full-investment defaults. */
export function createProblem(input: ProblemInput): Problem {
  const warnings: ProblemWarning[] = [...(input.warnings ?? [])];
  const tails = input.tails ?? createTailCuts(input.identifiers.length, scenariosOf(input, 'rows of the problem'));
  let asking = 0;
  const context = createRowContext(input, {
    tail: tails.goal,
    warn: (message) => warnings.push({ message, path: `constraints[${asking}].params` }),
  });
  const rows: PlacedRow[] = [];
  const origins: Origin[] = [];
  const place = (origin: Origin, expanded: readonly ProgramRow[]) => {
    if (expanded.length === 0) return;
    origins.push(origin);
    for (const row of expanded) rows.push({ origin, row });
  };
  input.rows.forEach((row, index) => {
    const entry = findConstraintClass(row.type);
    if (entry === undefined) throw new Error(`constraint class ${row.type} was not validated`);
    const params = entry.params.parse(row.params);
    asking = index;
    place(originOf(row, index, params), entry.toRows(params, context));
  });
  for (const { type, names } of defaultsOf(input)) {
    const entry = findConstraintClass(type)!; // The catalogue has both.
    const expanded = entry.toRows(entry.params.parse({}), context);
    const narrowed = names === null ? expanded : expanded.filter((row) => row.form !== 'name' || names[row.name] === 1);
    place(implicitOrigin(type, entry.kind, entry.unit), narrowed);
  }
  const { excluded = [] } = input;
  if (excluded.length > 0) {
    const { type, kind, unit, toRows } = exclude;
    const names = excluded.map((name) => input.identifiers[name]!);
    place(
      implicitOrigin(type, kind, unit, 'uncovered'),
      toRows({ identifiers: names, soft: null, priority: 0 }, context),
    );
  }
  const { identifiers, index, previous, metric, objective = TRACKING } = input;
  const { costs = null, robustness = null, expectedReturns = null } = input;
  return {
    identifiers,
    index,
    previous,
    metric,
    objective,
    goal: goalOf(input, { objective, rows, warnings }),
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

interface Stated {
  readonly objective: Objective;
  readonly rows: readonly PlacedRow[];
  readonly warnings: ProblemWarning[];
}

/** Returns the scenarios of a problem. @param who caller, for the error if there are none */
function scenariosOf({ scenarios }: ProblemInput, who: string): (terms: ScenarioTerms) => Float64Array {
  if (scenarios !== undefined) return scenarios;
  return () => {
    throw new Error(`the ${who} were not given the scenarios that they need`);
  };
}

function goalOf(input: ProblemInput, { objective: { entry, params }, rows, warnings }: Stated): Goal {
  const { identifiers, index, metric, datapoints, expectedReturns, algebra = plainAlgebra } = input;
  return entry.toGoal(params, {
    identifiers,
    index,
    metric,
    algebra,
    eligible: eligibleNames(identifiers.length, rows),
    categories: datapoints.categories,
    expectedReturns() {
      if (expectedReturns === undefined || expectedReturns === null)
        throw new Error(`the objective ${entry.type} was not given the expected returns it needs`);
      return expectedReturns;
    },
    scenarios: scenariosOf(input, `weights of the objective ${entry.type}`),
    warn: (message, at = '') => warnings.push({ message, path: `objective${at}` }),
  });
}

/** Returns securities that no hard row keeps at or below zero. */
function eligibleNames(n: number, rows: readonly PlacedRow[]): Uint8Array {
  const eligible = new Uint8Array(n).fill(1);
  for (const { row, origin } of rows)
    if (row.form === 'name' && origin.soft === null && row.upper !== null && row.upper.value <= 0)
      eligible[row.name] = 0;
  return eligible;
}

function listChangedRows(rows: readonly ConstraintRow[], changes: readonly ParameterChange[]): ConstraintRow[] {
  return rows.map((row, index) => {
    const own = changes.filter(({ origin, parameter }) => origin.index === index && parameter !== null);
    return own.length === 0
      ? row
      : { ...row, params: { ...row.params, ...Object.fromEntries(own.map(({ parameter, to }) => [parameter, to])) } };
  });
}

/** Widens rows of the problem; an equality becomes an inequality. */
function widenRows(problem: Problem, changes: readonly ParameterChange[]): Problem {
  const widths = new Map(
    changes.filter(({ parameter }) => parameter === null).map(({ origin, to }) => [origin.index, to]),
  );
  if (widths.size === 0) return problem;
  const widened = new Map(
    problem.origins.map((origin): [Origin, Origin] => [
      origin,
      widths.has(origin.index) ? { ...origin, kind: 'ineq' } : origin,
    ]),
  );
  const rows = problem.rows.map(({ origin, row }) => ({
    origin: widened.get(origin)!,
    row: widenRow(row, widths.get(origin.index) ?? 0),
  }));
  return { ...problem, rows, origins: [...widened.values()] };
}

function widenRow(row: ProgramRow, by: number): ProgramRow {
  if (row.form !== 'name' && row.form !== 'linear') return row;
  const roundOutward = (limit: Limit | null, side: 1 | -1) =>
    limit === null || !isStuck(limit) ? limit : { ...limit, value: limit.value + side * by };
  return { ...row, lower: roundOutward(row.lower, -1), upper: roundOutward(row.upper, 1) };
}

function originOf(row: ConstraintRow, index: number, params: Readonly<Record<string, unknown>>): Origin {
  const { kind, unit } = findConstraintClass(row.type)!; // The caller found it.
  const { soft, priority } = params as { soft: number | null; priority: number }; // Parameters common to every class.
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

function implicitOrigin(
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

interface Default {
  readonly type: 'FullInvestment' | 'LongOnly';
  /** [N], 1 if the default covers a security; null for a default on the whole. */
  readonly names: Uint8Array | null;
}

/** Returns the rows that apply by default, unless a client's row replaces them. */
function defaultsOf({ rows, identifiers }: ProblemInput): Default[] {
  const has = (...types: string[]) => rows.some(({ type }) => types.includes(type));
  const defaults: Default[] = [];
  if (!has('FullInvestment', 'WeightSum')) defaults.push({ type: 'FullInvestment', names: null });
  if (has('LongOnly')) return defaults;
  const covered = new Uint8Array(identifiers.length).fill(1);
  for (const { type, params } of rows) {
    const { lower, identifiers: listed } = params as { lower?: number; identifiers?: string[] | null }; // PositionBounds were validated.
    if (type !== 'PositionBounds' || lower === undefined || lower >= 0) continue;
    const lifted = listed === undefined || listed === null ? null : new Set(listed);
    identifiers.forEach((identifier, name) => {
      if (lifted === null || lifted.has(identifier)) covered[name] = 0;
    });
  }
  if (covered.includes(1)) defaults.push({ type: 'LongOnly', names: covered });
  return defaults;
}

/** Returns rows that only a restriction of the securities can satisfy. */
export function listNonConvexRows({ rows }: Problem): { readonly origin: Origin; readonly row: NonConvexRow }[] {
  return rows.flatMap(({ origin, row }) =>
    row.form === 'count' || row.form === 'threshold' || row.form === 'concentration' ? [{ origin, row }] : [],
  );
}

/** Returns the label of one side of a row: `{type}[{id or position}]:{side}`, then its group or identifier. */
export function describeRow({ origin, row }: PlacedRow, side: 'lower' | 'upper' | 'eq'): string {
  return `${origin.name}:${side}${row.member === null ? '' : `:${row.member}`}`;
}
