import { computeMetricDiagonal, computeMetricSquare } from '#kernels/optimisation/program/metric.js';
import type { Kink, Norm, Program } from '#kernels/optimisation/program/program.js';
import { computeDotProduct } from '../base/numbers.js';
import {
  type Average,
  computeSlopes,
  type CurvedRow,
  hasNoParameter,
  type Limit,
  type LinearRow,
  type NormRow,
  type ProgramRow,
} from '../definition/constraint-class.js';
import { findConstraintClass } from '../definition/constraints.js';
import { isPureTracking } from '../definition/objectives.js';
import { computeOutcomes, computeTailAverage, type TailGoal } from '../definition/tail-risk.js';
import {
  computePrices,
  type Origin,
  type Problem,
  type RowParameterChange,
  type RowWithOrigin,
  type TailCut,
  type TailCuts,
} from './problem.js';

/** Parameter that a relaxation may move. If no parameter determines the limits of a row, it is the width of the row. */
export interface MovableParameter {
  readonly origin: Origin;
  /** Parameter to move. Null for the width of a row. */
  readonly parameter: string | null;
  readonly from: number;
  readonly direction: 1 | -1;
  /** Maximum distance of a move that the class allows. */
  readonly room: number;
  /** Scale of the parameter: the largest of 1, its value, and the coefficients of its row. */
  readonly size: number;
  /** True if the rows of a program are proportional to the parameter and depend on no other parameter. */
  readonly isLinear: boolean;
  /** Row with the weighted average that the parameter bounds. Null for other limits. */
  readonly average: { readonly row: LinearRow; readonly average: Average } | null;
}

/** Returns the parameters that set the convex limits of given rows. Skips soft rows and rows of priority 0. */
export function listMovableParameters({ rows }: Problem, origins: readonly Origin[]): MovableParameter[] {
  const results = new Map<string, MovableParameter>();
  for (const { origin, row } of rows) {
    if (!origins.includes(origin) || origin.priority === 0 || origin.soft !== null) continue;
    for (const { limit, side } of listLimits(row)) {
      for (const [parameter, slope] of computeSlopes(limit)) {
        const direction = slope > 0 === (side === 'upper') ? 1 : -1;
        const key = `${origin.index} ${parameter} ${direction}`;
        if (slope === 0 || results.has(key)) continue;
        const from = origin.params[parameter] as number; // parameters of limits are numbers
        const size = Math.max(1, Math.abs(from), findLargestCoefficient(row));
        const average = row.form === 'linear' && row.average !== undefined ? { row, average: row.average } : null;
        results.set(key, {
          origin,
          parameter,
          from,
          direction,
          room: computeAcceptedRange({ origin, parameter, to: from }, direction, MOVE_MAX * size),
          size,
          isLinear: limit.further === undefined && isProportional(row, from),
          average,
        });
      }
    }
  }
  return [...results.values()];
}

/**
 * Returns the widths of given rows. A row is included if none of its limits depends on a parameter or, on request, if
 * any limit does not.
 */
export function listRowWidths(
  { rows }: Problem,
  origins: readonly Origin[],
  which: 'alone' | 'all',
): MovableParameter[] {
  return origins.flatMap((origin) => {
    const stuckFlags = rows
      .filter((rowWithOrigin) => rowWithOrigin.origin === origin)
      .flatMap(({ row }) => listLimits(row).map(({ limit }) => hasNoParameter(limit)));
    const hasWidth = which === 'all' ? stuckFlags.includes(true) : stuckFlags.length > 0 && !stuckFlags.includes(false);
    return hasWidth
      ? [{ origin, parameter: null, from: 0, direction: 1, room: MOVE_MAX, size: 1, isLinear: true, average: null }]
      : [];
  });
}

function isProportional(row: ProgramRow, from: number): boolean {
  return row.form !== 'norm' || row.radiusOf(2 * from) === 2 * row.radiusOf(from);
}

interface SidedLimit {
  readonly limit: Limit;
  readonly side: 'lower' | 'upper';
}

function listLimits(row: ProgramRow): SidedLimit[] {
  switch (row.form) {
    case 'name':
    case 'linear':
      return [
        ...(row.lower === null ? [] : [{ limit: row.lower, side: 'lower' as const }]),
        ...(row.upper === null ? [] : [{ limit: row.upper, side: 'upper' as const }]),
      ];
    case 'distance':
    case 'norm':
    case 'tail':
      // A larger radius relaxes the row. This is so for a maximum parameter and for a minimum parameter.
      return [{ limit: row.limit, side: 'upper' }];
    default:
      return [];
  }
}

/** Maximum relative move. A row that moves further is in effect removed, not relaxed. */
const MOVE_MAX = 1e4;

/** Returns the largest coefficient of a row. Returns 1 for a row other than a linear one. */
function findLargestCoefficient(row: ProgramRow): number {
  if (row.form !== 'linear') return 1;
  return (row.average?.numerator ?? row.coefficients).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/**
 * Returns the maximum distance by which a parameter may move before its class refuses the value. It is at most `reach`.
 */
function computeAcceptedRange(
  { origin, parameter, to: from }: RowParameterChange,
  direction: 1 | -1,
  reach: number,
): number {
  const isMoveAccepted = (move: number) => isAccepted(origin, parameter, from + direction * move);
  if (isMoveAccepted(reach)) return reach;
  let near = 0;
  let far = reach;
  for (let step = 0; step < 100 && far - near > 1e-12; step++) {
    const middle = (near + far) / 2;
    if (isMoveAccepted(middle)) near = middle;
    else far = middle;
  }
  // Limits of classes are round numbers. Bisection only approaches such a number, so the rounded value is tried.
  const roundedValue = Math.round((from + direction * near) * 1e6) / 1e6;
  return isMoveAccepted(Math.abs(roundedValue - from)) && Math.abs(roundedValue - from) > near
    ? Math.abs(roundedValue - from)
    : near;
}

/** Returns true if the constraint class accepts the value. */
export function isAccepted({ type, params }: Origin, parameter: string | null, to: number): boolean {
  if (parameter === null) return to >= 0;
  const entry = findConstraintClass(type);
  return entry !== undefined && entry.params.safeParse({ ...params, [parameter]: to }).success;
}

/**
 * Linearisation of a weighted average at the value `at` of its bound. The row compares (numerator - at * scale *
 * denominator)'w with zero. For another bound, the right side becomes the difference of the bounds times the invested
 * weight. The linearisation is exact at `at`. If it is repeated, it converges like Newton's method for ratios.
 * @source Dinkelbach (1967), On nonlinear fractional programming, Management Science 13(7).
 */
export interface AverageLinearisation {
  readonly at: number;
  /** Invested weight: change of the compared value per unit of the bound. */
  readonly invested: number;
}

export type LinearisedAverages = ReadonlyMap<LinearRow, AverageLinearisation>;

/**
 * Returns linear approximations of the averages whose bounds may be relaxed.
 * @param toOf returns the bound at which a parameter's average is linearised
 */
export function lineariseAverages(
  movables: readonly MovableParameter[],
  weights: Float64Array,
  toOf: (movable: MovableParameter) => number,
): LinearisedAverages {
  return new Map(
    movables.flatMap((movable) =>
      movable.average === null
        ? []
        : [
            [
              movable.average.row,
              { at: toOf(movable), invested: sumInvestedWeight(movable.average.average, weights) },
            ] as const,
          ],
    ),
  );
}

function sumInvestedWeight({ denominator, scale }: Average, weights: Float64Array): number {
  return denominator.reduce((sum, value, i) => sum + value * weights[i]!, 0) * scale;
}

export function computeAverageCoefficients({ numerator, denominator, scale }: Average, position: number): Float64Array {
  return numerator.map((value, i) => value - position * scale * denominator[i]!);
}

/**
 * Relative change of the linearisation points at which the search ends. The next change would be about the square of
 * this one.
 */
const VIEW_TOLERANCE = 1e-8;

/** Maximum number of linearisation rounds. Each round about doubles the number of correct digits. */
const VIEWS_MAX = 12;

export interface LinearisedResult {
  readonly weights: Float64Array;
}

/**
 * Repeats a search and linearises the averages again each time, until the results agree with the linearisation points.
 * If no parameter changes an average, searches only once.
 * @param search search with given linearised averages; undefined ends the repetition.
 * @param toOf returns the value of a movable parameter in a result.
 */
export function searchWithExactAverages<F extends LinearisedResult>(
  movables: readonly MovableParameter[],
  index: Float64Array,
  search: (views: LinearisedAverages) => F | undefined,
  toOf: (found: F, movable: MovableParameter) => number,
): F | undefined {
  let views = lineariseAverages(movables, index, ({ from }) => from);
  for (let round = 0; ; round++) {
    const result = search(views);
    if (result === undefined || views.size === 0 || round === VIEWS_MAX) return result;
    const next = lineariseAverages(movables, result.weights, (movable) => toOf(result, movable));
    if ([...next].every(([row, { at }]) => Math.abs(at - views.get(row)!.at) <= VIEW_TOLERANCE * (1 + Math.abs(at))))
      return result;
    views = next;
  }
}

/** Weighted sum of the variables with an upper bound. */
interface UpperRow {
  readonly coefficients: Float64Array;
  readonly upper: number;
}

/**
 * Appends upper-bound rows without a penalty to a program.
 * @cost a copy of the rows
 */
export function addUpperRows(program: Program, further: readonly UpperRow[]): Program {
  const { n, rows } = program;
  const coefficients = new Float64Array((rows.count + further.length) * n);
  coefficients.set(rows.coefficients);
  further.forEach((row, k) => coefficients.set(row.coefficients, (rows.count + k) * n));
  return {
    ...program,
    rows: {
      count: rows.count + further.length,
      coefficients,
      lower: Float64Array.of(...rows.lower, ...further.map(() => -Infinity)),
      upper: Float64Array.of(...rows.upper, ...further.map(({ upper }) => upper)),
      penalty: Float64Array.of(...rows.penalty, ...further.map(() => Infinity)),
    },
  };
}

function selectFirstRows(program: Program, count: number): Program {
  const { coefficients, lower, upper, penalty } = program.rows;
  return {
    ...program,
    rows: {
      count,
      coefficients: coefficients.subarray(0, count * program.n),
      lower: lower.subarray(0, count),
      upper: upper.subarray(0, count),
      penalty: penalty.subarray(0, count),
    },
  };
}

/**
 * Factor of a small term that makes the solution of every problem unique. The term is added to the objective per
 * squared active weight. The factor is relative to the mean variance.
 */
const TIE_BREAK = 1e-10;

/** Options for the assembly of a problem's program. */
export interface Assembly {
  /**
   * Result of an assembly with the same options but without a restriction. It saves expanding the rows again. Ignored
   * if `radii` is present.
   */
  readonly base?: AssembledProgram | undefined;
  /** Selects the rows of the program. Default: all rows. */
  readonly includes?: ((origin: Origin) => boolean) | undefined;
  readonly changes?: readonly RowParameterChange[] | undefined;
  /** Bounds and sums that make the non-convex rows linear. */
  readonly restriction?: Restriction | undefined;
  /** True to include limits on the tracking error as rows. False while the tracking error is minimised. */
  readonly withTracking?: boolean;
  /** Weighted averages, linearised. Default: the coefficients of an average are computed from its bound. */
  readonly views?: LinearisedAverages | undefined;
  /** Cutting planes of tail rows. Default: all known planes. */
  readonly planes?: readonly TailCut[] | undefined;
  /**
   * Limits of norm and tail rows that replace those of the request, by origin. Without such a limit, a soft norm or
   * tail row is not in the program.
   */
  readonly radii?: ReadonlyMap<Origin, number> | undefined;
}

/** Bounds that result from a choice of securities. They make the non-convex rows linear. */
export interface Restriction {
  /** Minimum weights, [N]; -Infinity without a minimum. */
  readonly least: Float64Array;
  /** Maximum weights, [N]; Infinity without a maximum. */
  readonly most: Float64Array;
  readonly sums: readonly UpperRow[];
}

/** Program, with the rows from which its parts were created. */
export interface AssembledProgram {
  readonly program: Program;
  /** Constraint row of each linear row of the program; undefined for sums of the restriction. */
  readonly linear: readonly (RowWithOrigin | undefined)[];
  readonly kinks: readonly RowWithOrigin[];
  readonly norms: readonly RowWithOrigin[];
  /** Number of cutting planes for tails. They are the last linear rows. */
  readonly planes: number;
}

/** Assembles the convex program of a problem: objective (w - b)' Sigma (w - b) plus the tie-breaking term. */
export function assembleProgram(problem: Problem, assembly: Assembly = {}): AssembledProgram {
  if (assembly.base !== undefined && assembly.radii === undefined)
    return addPlanes(problem, applyRestriction(removePlanes(assembly.base), assembly.restriction), assembly);
  const { index, metric } = problem;
  const n = index.length;
  const parts = createParts(n);
  for (const rowWithOrigin of problem.rows) {
    if (assembly.includes?.(rowWithOrigin.origin) === false) continue;
    addRow(parts, rowWithOrigin, assembly);
  }
  const meanVariance = computeMetricDiagonal(metric).reduce((sum, value) => sum + value, 0) / Math.max(n, 1);
  const program = parts.toAssembled({
    n,
    metric,
    curvature: 2,
    ridge: 2 * TIE_BREAK * meanVariance,
    centre: index,
    linear: new Float64Array(n),
  });
  return addPlanes(problem, applyRestriction(program, assembly.restriction), assembly);
}

/** Adds cutting planes for the tails that rows limit: those of the assembly, or all known ones. */
function addPlanes({ rows, tails }: Problem, assembled: AssembledProgram, assembly: Assembly): AssembledProgram {
  const { includes, changes, radii, planes: among = tails.known } = assembly;
  const curvedLimits = rows.flatMap((placed) => {
    const { origin, row } = placed;
    const isStated = includes?.(origin) !== false && (origin.soft === null || radii?.get(origin) !== undefined);
    return row.form === 'tail' && isStated
      ? [{ placed, goal: row.goal, upper: radii?.get(origin) ?? computeMovedValue(row.limit, origin, changes, 1) }]
      : [];
  });
  if (curvedLimits.length === 0) return assembled;
  const planes = among.flatMap(({ goal, slopes }) =>
    curvedLimits.filter((tail) => tail.goal === goal).map((tail) => ({ ...tail, coefficients: slopes })),
  );
  return {
    ...assembled,
    program: addUpperRows(assembled.program, planes),
    linear: [...assembled.linear, ...planes.map(({ placed }) => placed)],
    planes: planes.length,
  };
}

export function removePlanes(assembled: AssembledProgram): AssembledProgram {
  const { program, linear, planes } = assembled;
  if (planes === 0) return assembled;
  const count = program.rows.count - planes;
  return { ...assembled, program: selectFirstRows(program, count), linear: linear.slice(0, count), planes: 0 };
}

function applyRestriction(assembled: AssembledProgram, restriction: Restriction | undefined): AssembledProgram {
  if (restriction === undefined) return assembled;
  const { program, linear } = assembled;
  const { least, most, sums } = restriction;
  return {
    ...assembled,
    program: {
      ...addUpperRows(program, sums),
      lower: program.lower.map((bound, i) => Math.max(bound, least[i]!)),
      upper: program.upper.map((bound, i) => Math.min(bound, most[i]!)),
    },
    linear: [...linear, ...sums.map(() => undefined)],
  };
}

function addRow(parts: ProgramParts, entry: RowWithOrigin, assembly: Assembly): void {
  const { changes, withTracking = false, radii } = assembly;
  const { origin, row } = entry;
  const findLeast = (limit: Limit | null): number | undefined =>
    limit === null ? undefined : computeMovedValue(limit, origin, changes, -1);
  const findMost = (limit: Limit | null): number | undefined =>
    limit === null ? undefined : computeMovedValue(limit, origin, changes, 1);
  switch (row.form) {
    case 'name':
      parts.addBounds(entry, row.name, findLeast(row.lower), findMost(row.upper));
      break;
    case 'linear':
      if (row.average === undefined)
        parts.addLinear(entry, row.coefficients, findLeast(row.lower), findMost(row.upper));
      else addAverage(parts, entry, row, assembly);
      break;
    case 'distance': {
      const sides = {
        left: new Float64Array(row.reference.length).fill(-1),
        right: new Float64Array(row.reference.length).fill(1),
      };
      parts.addKink(entry, {
        at: row.reference,
        ...sides,
        limit: findMost(row.limit)! / row.scale - row.fixed,
        penalty: origin.soft === null ? Infinity : origin.soft * row.scale,
      });
      break;
    }
    case 'norm':
      if (isTracking(entry) && !withTracking) break;
      if (origin.soft !== null && radii?.get(origin) === undefined) break;
      parts.addNorm(entry, radii?.get(origin) ?? computeMovedRadius(row, origin, changes));
      break;
    case 'tail':
    case 'count':
    case 'threshold':
    case 'concentration':
      break;
  }
}

function isTracking({ row }: RowWithOrigin): boolean {
  return row.form === 'norm' && row.metric === 'covariance' && row.centre !== null;
}

/** Returns the changed value of a row's parameter. Returns undefined if it is unchanged. */
export function findMovedParameter(
  origin: Origin,
  parameter: string | null,
  changes: readonly RowParameterChange[] | undefined,
): number | undefined {
  return changes?.find((change) => change.origin === origin && change.parameter === parameter)?.to;
}

/**
 * Returns the value of a limit after changes to its row.
 * @param outward direction in which the limit becomes wider
 */
export function computeMovedValue(
  limit: Limit,
  origin: Origin,
  changes: readonly RowParameterChange[] | undefined,
  outward: 1 | -1,
): number {
  const rowChanges = changes?.filter((change) => change.origin === origin) ?? [];
  if (rowChanges.length === 0) return limit.value;
  if (hasNoParameter(limit)) return limit.value + outward * (findMovedParameter(origin, null, rowChanges) ?? 0);
  if (limit.further !== undefined)
    return limit.further.valueOf({
      ...origin.params,
      ...Object.fromEntries(rowChanges.map(({ parameter, to }) => [parameter, to])),
    });
  const to = findMovedParameter(origin, limit.parameter, rowChanges);
  if (to === undefined) return limit.value;
  const from = origin.params[limit.parameter!] as number; // parameters of limits are numbers
  return limit.value + limit.slope * (to - from);
}

export function computeMovedRadius(
  row: NormRow,
  origin: Origin,
  changes: readonly RowParameterChange[] | undefined,
): number {
  const to = findMovedParameter(origin, row.limit.parameter, changes);
  return to === undefined ? row.limit.value : row.radiusOf(to);
}

/**
 * Adds a weighted average. Its coefficients depend on the bound. For a changed bound they are computed again, or they
 * are linearised at one value of the bound.
 */
function addAverage(parts: ProgramParts, entry: RowWithOrigin, row: LinearRow, { changes, views }: Assembly): void {
  const { coefficients, lower, upper } = row;
  const average = row.average!; // only averages reach this function
  const parameter = readParameter(row);
  const to = findMovedParameter(entry.origin, parameter, changes);
  const view = views?.get(row);
  if (view === undefined) {
    parts.addLinear(
      entry,
      to === undefined ? coefficients : computeAverageCoefficients(average, to),
      lower?.value,
      upper?.value,
    );
    return;
  }
  const value = ((to ?? (entry.origin.params[parameter!] as number)) - view.at) * view.invested; // bounds of averages are numbers
  parts.addLinear(
    entry,
    computeAverageCoefficients(average, view.at),
    lower === null ? undefined : value,
    upper === null ? undefined : value,
  );
}

function readParameter({ lower, upper }: LinearRow): string | null {
  return (lower ?? upper)?.parameter ?? null;
}

interface ProgramParts {
  addBounds(entry: RowWithOrigin, name: number, lower?: number, upper?: number): void;
  addLinear(entry: RowWithOrigin, coefficients: Float64Array, lower?: number, upper?: number): void;
  addKink(entry: RowWithOrigin, kink: Kink): void;
  addNorm(entry: RowWithOrigin, radius: number): void;
  toAssembled(objective: Pick<Program, 'n' | 'metric' | 'curvature' | 'ridge' | 'centre' | 'linear'>): AssembledProgram;
}

function createParts(n: number): ProgramParts {
  const lower = new Float64Array(n).fill(-Infinity);
  const upper = new Float64Array(n).fill(Infinity);
  const rows: { placed: RowWithOrigin; coefficients: Float64Array; lower: number; upper: number; penalty: number }[] =
    [];
  const kinks: { placed: RowWithOrigin; kink: Kink }[] = [];
  const norms: { placed: RowWithOrigin; norm: Norm }[] = [];
  const softBounds = new Map<string, Kink>();

  /** Adds the penalty of a soft bound to the objective, on one side. All bounds of a row on one side share one kink. */
  function addBoundPrice(
    entry: RowWithOrigin,
    side: 'lower' | 'upper',
    name: number,
    position: number,
    soft: number,
  ): void {
    const key = `${entry.origin.index} ${side}`;
    let kink = softBounds.get(key);
    if (kink === undefined) {
      kink = {
        at: new Float64Array(n),
        left: new Float64Array(n),
        right: new Float64Array(n),
        limit: null,
        penalty: 1,
      };
      softBounds.set(key, kink);
      kinks.push({ placed: entry, kink });
    }
    kink.at[name] = position;
    if (side === 'lower') kink.left[name] = -soft;
    else kink.right[name] = soft;
  }

  return {
    addBounds(entry, name, least = -Infinity, most = Infinity) {
      const { soft } = entry.origin;
      if (soft === null) {
        lower[name] = Math.max(lower[name]!, least);
        upper[name] = Math.min(upper[name]!, most);
        return;
      }
      if (least > -Infinity) addBoundPrice(entry, 'lower', name, least, soft);
      if (most < Infinity) addBoundPrice(entry, 'upper', name, most, soft);
    },
    addLinear(entry, coefficients, least = -Infinity, most = Infinity) {
      rows.push({ placed: entry, coefficients, lower: least, upper: most, penalty: entry.origin.soft ?? Infinity });
    },
    addKink(entry, kink) {
      kinks.push({ placed: entry, kink });
    },
    addNorm(entry, radius) {
      const row = entry.row as NormRow; // only norm rows reach this function
      norms.push({
        placed: entry,
        norm: {
          metric: row.metric === 'covariance' ? 'metric' : 'identity',
          centre: row.centre ?? new Float64Array(n),
          radius,
        },
      });
    },
    toAssembled(objective) {
      const coefficients = new Float64Array(rows.length * n);
      rows.forEach((row, r) => coefficients.set(row.coefficients, r * n));
      return {
        program: {
          ...objective,
          lower,
          upper,
          rows: {
            count: rows.length,
            coefficients,
            lower: Float64Array.from(rows, (row) => row.lower),
            upper: Float64Array.from(rows, (row) => row.upper),
            penalty: Float64Array.from(rows, ({ penalty }) => penalty),
          },
          kinks: kinks.map(({ kink }) => kink),
          norms: norms.map(({ norm }) => norm),
        },
        linear: rows.map(({ placed }) => placed),
        kinks: kinks.map(({ placed }) => placed),
        norms: norms.map(({ placed }) => placed),
        planes: 0,
      };
    },
  };
}

/** Row with a limit on a curved measure of the weights: a norm, or the average of a tail. */
export interface CurvedLimit {
  readonly origin: Origin;
  readonly row: CurvedRow;
}

export function isCurve(rowWithOrigin: RowWithOrigin): rowWithOrigin is CurvedLimit {
  return rowWithOrigin.row.form === 'norm' || rowWithOrigin.row.form === 'tail';
}

/** Returns the measure of a row at some weights. @cost a pass over the metric, or over the scenarios */
export function measureRow(problem: Pick<Problem, 'metric'>, row: CurvedRow, weights: Float64Array): number {
  return row.form === 'norm'
    ? computeRowNorm(problem, row, weights)
    : computeTailAverage(row.goal, computeOutcomes(row.goal, weights));
}

export function findLargestMeasure(
  { origin, row }: CurvedLimit,
  { changes, radii }: Pick<Assembly, 'changes' | 'radii'>,
): number {
  const assignedRadius = radii?.get(origin);
  if (assignedRadius !== undefined) return assignedRadius;
  return row.form === 'norm'
    ? computeMovedRadius(row, origin, changes)
    : computeMovedValue(row.limit, origin, changes, 1);
}

function findParameterAtMeasure(row: CurvedRow, measure: number): number {
  return row.form === 'norm' ? row.parameterOf(measure) : measure;
}

/** Returns the norm of a row: the root of (w - c)' M (w - c). */
export function computeRowNorm(
  { metric }: Pick<Problem, 'metric'>,
  { centre, metric: kind }: NormRow,
  weights: Float64Array,
): number {
  const offset = centre === null ? weights : weights.map((weight, i) => weight - centre[i]!);
  if (kind === 'covariance') return Math.sqrt(Math.max(0, computeMetricSquare(metric, offset)));
  return Math.sqrt(offset.reduce((sum, value) => sum + value * value, 0));
}

/** Accepted excess of a measure over its limit, relative to 1 + the limit. */
const TOLERANCE = 1e-9;

/** Returns the excess of a measure over its limit; zero if it is only rounding. */
export function computeExcess(
  problem: Pick<Problem, 'metric'>,
  curvedLimit: CurvedLimit,
  weights: Float64Array,
  assembly: Pick<Assembly, 'changes' | 'radii'>,
): number {
  const largestMeasure = findLargestMeasure(curvedLimit, assembly);
  const measure = measureRow(problem, curvedLimit.row, weights);
  return measure > computeAcceptedMeasure(largestMeasure) ? measure - largestMeasure : 0;
}

/** Returns the largest accepted measure for a limit, including rounding. */
function computeAcceptedMeasure(most: number): number {
  return most + TOLERANCE * (1 + most);
}

/**
 * Returns cutting planes for the tails that exceed their limits at some weights. They are rows of the next program. If
 * a known plane is violated and the program lacks it, it is preferred to a new one.
 * @param among planes of the program. Default: all known planes.
 */
export function createTangentPlanes(
  problem: Problem,
  assembly: Assembly,
  weights: Float64Array,
  among?: readonly TailCut[],
): readonly TailCut[] {
  return problem.rows.flatMap((rowWithOrigin): readonly TailCut[] => {
    if (!isCurve(rowWithOrigin) || rowWithOrigin.row.form !== 'tail' || !isInProgram(rowWithOrigin, assembly))
      return [];
    if (computeExcess(problem, rowWithOrigin, weights, assembly) === 0) return [];
    const { goal } = rowWithOrigin.row;
    const idle = among === undefined ? undefined : findMostExceededPlane(problem.tails, goal, weights, among);
    if (
      idle !== undefined &&
      computeDotProduct(idle.slopes, weights) > computeAcceptedMeasure(findLargestMeasure(rowWithOrigin, assembly))
    )
      return [idle];
    return [problem.tails.add(goal, weights)];
  });
}

/** Returns the most violated of the known planes of a tail that the program lacks. */
function findMostExceededPlane(
  { known }: TailCuts,
  goal: TailGoal,
  weights: Float64Array,
  among: readonly TailCut[],
): TailCut | undefined {
  const usedCuts = new Set(among);
  let largestMeasure = -Infinity;
  let tailCut: TailCut | undefined;
  for (const cut of known) {
    if (cut.goal !== goal || usedCuts.has(cut)) continue;
    const value = computeDotProduct(cut.slopes, weights);
    if (value > largestMeasure) [largestMeasure, tailCut] = [value, cut];
  }
  return tailCut;
}

/** Returns true if a row is part of the program. A soft row is part of it only if a limit was found for it. */
function isInProgram({ origin }: RowWithOrigin, { includes, radii }: Assembly): boolean {
  return includes?.(origin) !== false && (origin.soft === null || radii?.get(origin) !== undefined);
}

/**
 * Returns a function that is true for rows that are checked only after the solve. These are limits on the tracking
 * error, if the tracking error is the only objective.
 */
export function isCheckedOnly({ goal, index, costs }: Problem): (rowWithOrigin: RowWithOrigin) => boolean {
  return isPureTracking(goal, index, costs) ? isTracking : () => false;
}

/** Returns the penalty of soft curved rows at their widened limits. */
export function computeCurveCharge({ rows }: Problem, radii: ReadonlyMap<Origin, number> | undefined): number {
  if (radii === undefined) return 0;
  let total = 0;
  for (const rowWithOrigin of rows) {
    const largestMeasure = radii.get(rowWithOrigin.origin);
    if (largestMeasure !== undefined && isCurve(rowWithOrigin))
      total += computeViolationPrice(rowWithOrigin, rowWithOrigin.row.limit.value, largestMeasure);
  }
  return total;
}

/** Returns the penalty of a soft curved row for a measure above its limit. */
function computeViolationPrice({ origin, row }: CurvedLimit, most: number, measure: number): number {
  return (origin.soft ?? 0) * Math.abs(findParameterAtMeasure(row, measure) - findParameterAtMeasure(row, most));
}

/** Returns the penalty of violated soft rows, except for limits on a tracking error that is the only objective. */
export function computePricedViolations(
  problem: Problem,
  { program }: AssembledProgram,
  weights: Float64Array,
  options: Assembly,
): number {
  const isChecked = isCheckedOnly(problem);
  let total = computePrices(program, weights);
  for (const curvedLimit of listCurves(problem, options)) {
    if (curvedLimit.origin.soft === null || isChecked(curvedLimit)) continue;
    const measure = measureRow(problem, curvedLimit.row, weights);
    const largestMeasure = findLargestMeasure(curvedLimit, { changes: options.changes });
    if (measure > largestMeasure) total += computeViolationPrice(curvedLimit, largestMeasure, measure);
  }
  return total;
}

export function listCurves(problem: Problem, { includes }: Assembly): CurvedLimit[] {
  return problem.rows.filter(isCurve).filter(({ origin }) => includes?.(origin) !== false);
}
