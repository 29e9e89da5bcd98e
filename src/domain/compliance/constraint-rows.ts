import { findConstraintClass } from '../constraints/catalogue.js';
import type { MissingValues, RowContext } from '../constraints/constraint-class.js';
import { COUNT_MAX } from '../constraints/parameters.js';
import type { Limit, ProgramRow } from '../constraints/program-row.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import { NO_GROUP } from '../constraints/scope.js';
import { UNCLASSIFIED } from '../market/market-groups.js';
import { refuseWithFindings } from '../refusals/refusal.js';
import { measureNthLargestIssuer, measureSumAbove } from './issuer-measures.js';
import type { LimitRow } from './limit-row.js';
import {
  effectiveNumber,
  grossExposure,
  countHoldings,
  leastHolding,
  limitMove,
  computeRatio,
  type BoundedMeasure,
  type BoundSide,
} from './measure.js';

/**
 * Data of a close that monitored optimiser rows may read. It has holdings and datapoints, but no parent index, trades
 * or forecasts.
 */
export interface WatchedContext extends Pick<RowContext, 'identifiers' | 'numbers' | 'categories' | 'covers'> {
  /** Receives the missing values of a row, with the position of the row. Default: no action. */
  missing?(lack: MissingValues, position: number): void;
}

/** Error of a constraint class that needs data other than holdings. */
class HoldingsOnlyError extends Error {}

/**
 * Converts rows of the optimiser to limits on one close.
 * @throws Refusal VALIDATION_FAILED for a row that measures against a parent index, trades or forecasts of risk
 */
export function createLimitRows(rows: readonly ConstraintRow[], watched: WatchedContext): LimitRow[] {
  const rejectAbsent = (): never => {
    throw new HoldingsOnlyError();
  };
  const createRowContextAt = (position: number): RowContext => ({
    ...watched,
    get index(): never {
      return rejectAbsent();
    },
    reference: rejectAbsent,
    medianValueTraded: rejectAbsent,
    covarianceTimesIndex: rejectAbsent,
    expectedReturns: rejectAbsent,
    tail: rejectAbsent,
    missing: (lack) => watched.missing?.(lack, position),
  });
  return rows.flatMap((row, position) => {
    const entry = findConstraintClass(row.type);
    if (entry === undefined) throw new Error(`constraint class ${row.type} was not validated`);
    const params = (entry.watched ?? entry.params).parse(row.params);
    const name = `${row.type}[${row.id === '' ? position : row.id}]`;
    try {
      return entry.toRows(params, createRowContextAt(position)).flatMap((expanded) =>
        listLimits(expanded, params).map((limit) => ({
          ...limit,
          row: nameRow(name, limit, expanded),
          unit: entry.unit,
        })),
      );
    } catch (error) {
      if (error instanceof HoldingsOnlyError) throw createNotWatchedError(row, position);
      throw error;
    }
  });
}

type UnnamedLimit = Pick<LimitRow, 'side' | 'limit' | 'measure'> & { readonly part?: string };

function nameRow(name: string, { side, part = side }: UnnamedLimit, { member }: ProgramRow): string {
  return `${name}:${part}${member === null ? '' : `:${member === NO_GROUP ? UNCLASSIFIED : member}`}`;
}

function listLimits(row: ProgramRow, params: Readonly<Record<string, unknown>>): UnnamedLimit[] {
  switch (row.form) {
    case 'name':
      return createBounds(row, measureWeight(row.name));
    case 'linear': {
      if (row.average === undefined) return createBounds(row, computeRatio(row.coefficients, null));
      const { numerator, denominator } = row.average;
      const side: BoundSide = row.lower === null ? 'upper' : 'lower';
      return [{ side, limit: params[side] as number, measure: computeRatio(numerator, denominator) }]; // the row exists because this parameter is set
    }
    case 'norm':
      if (row.metric === 'covariance' || row.centre !== null) throw new HoldingsOnlyError();
      return [{ side: row.side, limit: params[row.limit.parameter!] as number, measure: effectiveNumber }]; // the row exists because this parameter is set
    case 'count':
      return [
        { side: 'lower', limit: row.minimum, measure: countHoldings(row.members) },
        ...(row.maximum === COUNT_MAX
          ? []
          : [{ side: 'upper' as const, limit: row.maximum, measure: countHoldings(row.members) }]),
      ];
    case 'threshold':
      return [{ side: 'lower', limit: row.threshold, measure: leastHolding }];
    case 'concentration':
      return [
        { side: 'upper', limit: row.single, measure: measureNthLargestIssuer(1), part: 'single' },
        { side: 'upper', limit: row.aggregate, measure: measureSumAbove(row.trigger), part: 'aggregate' },
      ];
    case 'distance':
      // Of the distances, only the one from zero weights is measured from holdings only.
      if (row.reference.some((weight) => weight !== 0)) throw new HoldingsOnlyError();
      return [{ side: 'upper', limit: row.limit.value, measure: grossExposure }];
    case 'tail':
      throw new HoldingsOnlyError();
  }
}

function createBounds(
  { lower, upper }: { readonly lower: Limit | null; readonly upper: Limit | null },
  measure: BoundedMeasure,
): UnnamedLimit[] {
  return [
    ...(lower === null ? [] : [{ side: 'lower' as const, limit: lower.value, measure }]),
    ...(upper === null ? [] : [{ side: 'upper' as const, limit: upper.value, measure }]),
  ];
}

/**
 * Measures the weight of one security. The weight responds most to the security's own price, then to the price of the
 * largest security.
 */
function measureWeight(position: number): BoundedMeasure {
  return {
    movers: (heaviest) => [position, ...heaviest],
    valueOf: ({ weights }) => weights[position]!,
    movesOf({ weights }, { limit }) {
      const ownWeight = weights[position]!;
      return {
        moveOf(name) {
          const weight = weights[name]!;
          return limitMove((limit - ownWeight) / (weight * ((name === position ? 1 : 0) - limit)), weight);
        },
      };
    },
  };
}

function createNotWatchedError({ id, type }: ConstraintRow, position: number): Error {
  return refuseWithFindings('body', [
    {
      severity: 'error',
      code: 'NOT_IN_CHOICES',
      message: `${type} needs a parent index, trades, expected returns or a risk forecast. Only limits on holdings can be monitored.`,
      path: `rows[${position}].type`,
      row_id: id === '' ? null : id,
      value: type,
    },
  ]);
}
