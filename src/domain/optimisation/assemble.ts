import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import type { Kink, Norm, Program } from '#kernels/optimisation/program/program.js';
import { hasNoParameter, type Limit, type LinearRow, type NormRow } from '../constraints/program-row.js';
import { computeAverageCoefficients, type LinearisedAverages } from './averages.js';
import type { RowParameterChange } from './relaxation/parameter-change.js';
import { selectFirstRows, addUpperRows, type UpperRow } from './upper-rows.js';
import type { Origin, RowWithOrigin, Problem } from './problem.js';
import type { TailCut } from './tails/tail-cuts.js';

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
  /** Changed parameters of rows. */
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
  /** Upper bounds on sums of weights. */
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

/** Returns the program without its cutting planes. */
export function removePlanes(assembled: AssembledProgram): AssembledProgram {
  const { program, linear, planes } = assembled;
  if (planes === 0) return assembled;
  const count = program.rows.count - planes;
  return { ...assembled, program: selectFirstRows(program, count), linear: linear.slice(0, count), planes: 0 };
}

/** Applies the bounds and sums of a restriction to a program. */
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

/** Returns true if a row limits the tracking error. */
export function isTracking({ origin, row }: RowWithOrigin): boolean {
  return row.form === 'norm' && origin.type === 'TrackingError';
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

/** Parts of a program that is being assembled. */
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
