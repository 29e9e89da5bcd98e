import { findConstraintClass } from '../../constraints/catalogue.js';
import {
  hasNoParameter,
  computeSlopes,
  type Average,
  type Limit,
  type LinearRow,
  type ProgramRow,
} from '../../constraints/program-row.js';
import type { RowParameterChange } from './parameter-change.js';
import type { Origin, Problem } from '../problem.js';

/** Parameter that a relaxation may move. If no parameter determines the limits of a row, it is the width of the row. */
export interface MovableParameter {
  readonly origin: Origin;
  /** Parameter to move. Null for the width of a row. */
  readonly parameter: string | null;
  readonly from: number;
  /** Direction of relaxation. */
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

/** Returns true if the radius of a row is proportional to its parameter. */
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
