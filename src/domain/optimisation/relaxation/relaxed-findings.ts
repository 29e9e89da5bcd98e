import { computeSlopes, type Limit, type ProgramRow } from '../../constraints/program-row.js';
import { formatDay } from '../../time/days.js';
import { keepSmallValue, type Finding } from '../../refusals/findings.js';
import type { DerivedSolve } from '../derived/derived-solve.js';
import type { Origin } from '../problem.js';
import type { ExecutedMove } from './relaxation.js';
import type { RowSide } from '../report.js';

/**
 * Warns about rows that were relaxed at a rebalance. States the rows, the amounts, and forced sales that caused a
 * relaxation.
 */
export function reportRelaxedRows({
  parent,
  relaxed,
  leavers,
}: Pick<DerivedSolve, 'parent' | 'relaxed' | 'leavers'>): Finding[] {
  return relaxed.map(({ movable: { origin, parameter, from }, to, change, bound }): Finding => {
    const changePhrase =
      parameter === null ? 'its bounds were widened by this amount' : `its ${parameter} was ${to} instead of ${from}`;
    const message = `On ${formatDay(parent.date)} ${origin.name} was relaxed by ${Math.abs(change)}: ${changePhrase}.${describeGap(bound)}${describeForcedSales(origin, leavers)}`;
    const row = `derivation.constraints[${origin.index}]`;
    return {
      severity: 'warning',
      code: 'CONSTRAINT_RELAXED',
      message,
      path: parameter === null ? row : `${row}.params.${parameter}`,
      row_id: origin.id === '' ? null : origin.id,
      value: to,
    };
  });
}

/** Warns about the steps by which a rebalance relaxed rows. */
export function reportRelaxSteps({ parent, steps }: Pick<DerivedSolve, 'parent' | 'steps'>): Finding[] {
  return steps.map(({ entry, step, row, params }): Finding => {
    const changes = Object.entries(params).map(
      ([name, value]) =>
        `its ${name} was ${JSON.stringify(value)} instead of ${JSON.stringify(row.params[name] ?? null)}`,
    );
    const message = `On ${formatDay(parent.date)} ${row.type}[${row.id}] was relaxed by step ${step + 1}: ${changes.join(', ')}.`;
    return {
      severity: 'warning',
      code: 'CONSTRAINT_RELAXED',
      message,
      path: `derivation.relax[${entry}].steps[${step}]`,
      row_id: row.id,
      ...keepSmallValue(params),
    };
  });
}

/** Describes how far a change may be above the minimum. The change was found by a search over choices of securities. */
function describeGap(bound: number | undefined): string {
  return bound === undefined
    ? ''
    : ` A search found this value; values up to ${roundDigits(bound)} are proven insufficient.`;
}

/** Maximum number of forced sales listed individually. */
const NAMED_MAX = 5;

/** Describes the forced sales that a limit on turnover from earlier weights cannot prevent. */
function describeForcedSales({ type, params }: Origin, all: DerivedSolve['leavers']): string {
  const { reference } = params;
  if (type !== 'Turnover' || (reference !== 'previous' && reference !== 'held')) return '';
  const leavers = all[reference];
  if (leavers.length === 0) return '';
  const namedLeavers = leavers
    .slice(0, NAMED_MAX)
    .map(({ identifier, weight }) => `${identifier} ${roundDigits(weight)}`);
  const restCount = leavers.length - namedLeavers.length;
  const total = leavers.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
  return ` Sold because they left the source index: ${namedLeavers.join(', ')}${restCount > 0 ? ` and ${restCount} more` : ''}; ${roundDigits(total)} in total.`;
}

const roundDigits = (value: number): number => Number(value.toPrecision(6));

/** Returns the amount by which the bound of a row side was relaxed. Returns null if it is unchanged. */
export function findRelaxation(
  { placed: { origin, row }, side }: RowSide,
  relaxed: readonly ExecutedMove[],
): number | null {
  const parameters = listParameters(row, side);
  const executedMove = relaxed.find(
    ({ movable }) =>
      movable.origin.index === origin.index && (movable.parameter === null || parameters.includes(movable.parameter)),
  );
  return executedMove?.change ?? null;
}

/** Returns the parameters that set one side of a row. */
function listParameters(row: ProgramRow, side: RowSide['side']): readonly string[] {
  const listLimitParameters = (limit: Limit | null) =>
    limit === null ? [] : computeSlopes(limit).map(([parameter]) => parameter);
  switch (row.form) {
    case 'name':
    case 'linear':
      return listLimitParameters(side === 'upper' ? row.upper : row.lower);
    case 'distance':
    case 'norm':
    case 'tail':
      return listLimitParameters(row.limit);
    case 'count':
      return [side === 'upper' ? 'maximum' : 'minimum'];
    case 'threshold':
      return ['threshold'];
    case 'concentration':
      return ['single', 'trigger', 'aggregate'];
  }
}
