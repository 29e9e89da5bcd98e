import { findConstraintClass } from '../../constraints/catalogue.js';
import { listNonConvexRows, type Problem } from '../problem.js';
import type { ConflictRow } from '../proof.js';
import type { Infeasibility, RowName, UnresolvedConflict } from './infeasibility.js';
import type { Relaxation } from './relaxation.js';

/**
 * Describes the conflicting rows, the attainable value of each parameter, and the conflicts that remain after removing
 * a row.
 */
export function describeInfeasibility(
  problem: Problem,
  { conflict, relaxations, exhaustive }: Pick<Infeasibility, 'conflict' | 'relaxations' | 'exhaustive'>,
  remaining: readonly UnresolvedConflict[] = [],
): string {
  const moreCount = relaxations.length - DESCRIBED_CHANGES_MAX;
  return [
    describeConflict(conflict),
    ...relaxations.slice(0, DESCRIBED_CHANGES_MAX).map(describeReach),
    ...(moreCount > 0
      ? [`${moreCount} more such ${moreCount === 1 ? 'change is' : 'changes are'} in the detail.`]
      : []),
    ...remaining.map(describeRemaining),
    ...describeMissingSecurities(problem, conflict),
    ...describeParity(problem, conflict),
    ...(exhaustive === false ? describeWorkLimit(conflict, relaxations) : []),
  ].join(' ');
}

/** Maximum number of parameter changes described in sentences. */
const DESCRIBED_CHANGES_MAX = 5;

/** Describes an explanation that was not completed: which constraints have no change that was tried to the end. */
function describeWorkLimit(conflict: readonly ConflictRow[], relaxations: readonly Relaxation[]): string[] {
  const moved = new Set(relaxations.map(({ index }) => index));
  const names = conflict.filter(({ index }) => index !== null && !moved.has(index)).map(formatRowName);
  const sentence =
    'The work limit of this explanation was reached. It can list unnecessary constraints, and other or smaller changes can be sufficient.';
  return names.length === 0 ? [sentence] : [sentence, `Changes of ${names.join(', ')} were not tried to the end.`];
}

function describeRemaining({ without, conflict }: UnresolvedConflict): string {
  return `Without ${formatRowName(without)} there is still a conflict: ${lowerFirstLetter(describeConflict(conflict))}`;
}

function lowerFirstLetter(text: string): string {
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;
}

/** Describes why risk parity excludes a choice of securities. Returns an empty list for other objectives. */
function describeParity(problem: Problem, conflict: readonly ConflictRow[]): string[] {
  const { goal } = problem;
  if (goal.form !== 'ratio' || goal.numerator.kind !== 'evenness') return [];
  const nonConvexRows = new Set(listNonConvexRows(problem).map(({ origin }) => origin.index));
  const hasChoice = conflict.some(({ index }) => nonConvexRows.has(index));
  return hasChoice
    ? ['Risk parity holds every security with a risk budget. No selection of securities is possible.']
    : [];
}

/** Describes groups in conflicting rows that contain no candidate. */
function describeMissingSecurities({ rows }: Problem, conflict: readonly ConflictRow[]): string[] {
  const conflictRows = new Set(conflict.map(({ index }) => index));
  return rows.flatMap(({ origin, row }) => {
    const { field, groups } = origin.params as { readonly field?: string; readonly groups?: readonly string[] | null };
    if (origin.index === null || !conflictRows.has(origin.index) || !groups?.includes(row.member ?? '')) return [];
    const isNobodys =
      row.form === 'count'
        ? row.members.length === 0
        : row.form === 'linear' && row.coefficients.every((value) => value === 0);
    return isNobodys ? [`No candidate has the ${field} ${row.member}.`] : [];
  });
}

function describeReach(relaxation: Relaxation): string {
  const { type, parameter, from, to, bound } = relaxation;
  const isShare = findConstraintClass(type)?.unit === 'fraction' && !NON_FRACTION_PARAMETERS.has(parameter);
  const formatNumber = (value: number) =>
    isShare ? `${Number((100 * value).toPrecision(DIGITS))}%` : String(Number(value.toPrecision(DIGITS)));
  const requestText = SOLE_PARAMETERS.has(parameter) ? formatNumber(from) : `${parameter} ${formatNumber(from)}`;
  const extremeWord = to > from ? 'lowest' : 'highest';
  const reachPhrase =
    bound === undefined
      ? `the ${extremeWord} that the other constraints allow is`
      : `the ${extremeWord} that was found to be sufficient is`;
  return `${formatRowName(relaxation)} requires ${requestText}; ${reachPhrase} ${formatNumber(to)}.`;
}

/** Parameters of rows that have no other numeric parameter. */
const SOLE_PARAMETERS: ReadonlySet<string> = new Set(['limit', 'minimum', 'maximum', 'threshold']);

/** Parameters that are not fractions, in rows whose unit is a fraction. */
const NON_FRACTION_PARAMETERS: ReadonlySet<string> = new Set(['days', 'notional']);

/** Number of significant digits of limits in sentences. */
const DIGITS = 4;

/** Returns the name of a row for a sentence. */
function formatRowName({ id, index, type }: RowName): string {
  if (index === null) return IMPLICIT_ROW_NAMES[type] ?? type;
  return id === '' ? `${type} (row ${index})` : id;
}

function describeConflict(conflict: readonly RowName[]): string {
  const names = conflict.map(formatRowName);
  if (names.length === 0) return 'The constraints are infeasible.';
  if (names.length === 1) return `Constraint ${names[0]} is infeasible on its own.`;
  const constraintCount = conflict.filter(({ index }) => index !== null).length;
  const word = constraintCount === 0 ? '' : constraintCount === 1 ? 'Constraint ' : 'Constraints ';
  return `${word}${names.slice(0, -1).join(', ')} and ${names.at(-1)} are jointly infeasible.`;
}

const IMPLICIT_ROW_NAMES: Readonly<Record<string, string>> = {
  FullInvestment: 'the full-investment budget',
  LongOnly: 'the long-only default',
  Exclude: 'the exclusion of securities without a risk estimate',
};
