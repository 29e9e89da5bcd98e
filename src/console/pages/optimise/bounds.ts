import type { ConstraintCost, OptimisationRunResult } from '#clients/typescript/divisor.js';
import { formatInUnit } from '../../words/amounts.js';
import { formatCount } from '../../words/numbers.js';
import { formatRow } from './row-labels.js';

/** Soft bound that a solution violates. */
export type ExceededLimit = NonNullable<OptimisationRunResult['exceeded']>[number];

/** Types of constraints that limit a displayed figure. */
type LimitedFigure = 'TrackingError' | 'Turnover';

/** Returns the note and the mark of a figure with a soft limit. Returns nothing if the limit is met. */
export function createExcessNote(exceeded: readonly ExceededLimit[], figure: LimitedFigure) {
  const excess = exceeded.find(({ type }) => type === figure);
  if (excess === undefined) return {};
  return { kind: 'warning', note: `limit ${formatInUnit(excess.limit, excess.unit)} exceeded (soft)` };
}

const formatExcess = ({ label, value, limit, unit }: ExceededLimit): string =>
  `${formatRow(label.replace(/:(?:lower|upper|eq)/, ''))} ${formatInUnit(value, unit)}, limit ${formatInUnit(limit, unit)}`;

/**
 * Describes the first soft bound that is violated: `Tracking error 2.92% exceeds 2.00%`. Returns null if there is none.
 */
export function formatFirstExcess([excess]: readonly ExceededLimit[]): string | null {
  if (excess === undefined) return null;
  const { type, side, value, limit, unit } = excess;
  const verb = side === 'lower' ? 'is below' : 'exceeds';
  return `${formatRow(type)} ${formatInUnit(value, unit)} ${verb} ${formatInUnit(limit, unit)}`;
}

/**
 * Describes the violated soft bounds of constraints that limit none of the shown figures. Returns null if there are
 * none.
 */
export function formatOtherExcesses(exceeded: readonly ExceededLimit[]): string | null {
  const excesses = exceeded.filter(({ type }) => type !== 'TrackingError' && type !== 'Turnover').map(formatExcess);
  if (excesses.length === 0) return null;
  const restCount = excesses.length - NAMED_MAX;
  return [...excesses.slice(0, NAMED_MAX), ...(restCount > 0 ? [`${restCount} more`] : [])].join('; ');
}

/** Maximum number of names in a sentence: of members of a constraint, or of bounds. */
const NAMED_MAX = 3;

/** Matches the labels of constraints that the service itself adds to those of a request. */
const ADDED_ROW = /^\w+\[(?:default|uncovered)\]/;

/** Counts the constraints of a request that have at least one binding bound. */
export const countBindingConstraints = (labels: readonly string[]): number =>
  new Set(labels.filter((label) => !ADDED_ROW.test(label)).map((label) => label.split(':')[0])).size;

/** Returns the labels of the bounds that hold a solution back: the binding bounds without the violated soft bounds. */
export function removeExceeded(labels: readonly string[], exceeded: readonly ExceededLimit[]): readonly string[] {
  const violatedLabels = new Set(exceeded.map(({ label }) => label));
  return labels.filter((label) => !violatedLabels.has(label));
}

/**
 * Describes the binding bounds of the constraints of a request: `Position bounds (pos): QYLG, XURS at upper, 58 at
 * lower`. If a bound has many members, only their number is given.
 */
export function formatBindingBounds(labels: readonly string[]): string {
  const sidesByRow = new Map<string, Map<string, string[]>>();
  for (const label of labels.filter((own) => !ADDED_ROW.test(own))) {
    const [row = '', side = '', ...member] = label.split(':');
    const sides = sidesByRow.get(row) ?? new Map<string, string[]>();
    sidesByRow.set(
      row,
      sides.set(side, [...(sides.get(side) ?? []), ...(member.length > 0 ? [member.join(':')] : [])]),
    );
  }
  return [...sidesByRow]
    .map(([row, sides]) => [formatRow(row), formatSides(sides)].filter(Boolean).join(': '))
    .join('; ');
}

const formatSides = (sides: ReadonlyMap<string, readonly string[]>): string =>
  [...sides]
    .filter(([, members]) => members.length > 0)
    .toSorted(([, a], [, b]) => a.length - b.length)
    .map(([side, members]) => {
      const text = members.length > NAMED_MAX ? formatCount(members.length) : members.join(', ');
      return side === 'eq' ? text : `${text} at ${side}`;
    })
    .join(', ');

/**
 * Describes the constraint that costs most. Returns null if no constraint has a cost.
 * @param formatCost formats the difference to the objective without a constraint
 */
export function formatCostliest(
  costs: readonly ConstraintCost[],
  formatCost: (objectiveWithout: number | null) => string,
): string | null {
  const [costliest] = costs
    .filter((row) => row.cost !== null && row.cost !== 0)
    .toSorted((a, b) => Math.abs(b.cost!) - Math.abs(a.cost!)); // non-null after the filter
  if (costliest === undefined) return null;
  const { type, id, index } = costliest;
  return `${formatRow(`${type}[${id === '' ? index + 1 : id}]`)}, ${formatCost(costliest.objective_without)}`;
}

/**
 * Returns the members of the binding bounds of the constraints that `isRow` accepts, for example of
 * `Exclude[uncovered]`.
 */
export const listBindingMembers = (labels: readonly string[], isRow: (row: string) => boolean): ReadonlySet<string> =>
  new Set(
    labels.flatMap((label) => {
      const [, row = '', member] = /^(.*?):(?:upper|lower|eq):(.*)$/.exec(label) ?? [];
      return member !== undefined && isRow(row) ? [member] : [];
    }),
  );

/** Returns the securities that an optimisation excludes because they have no risk estimate. */
export const listUncoveredSecurities = (labels: readonly string[]): ReadonlySet<string> =>
  listBindingMembers(labels, (row) => row === 'Exclude[uncovered]');
