import type { Composer } from '../books/compositions.js';
import { restoreDecided } from '../books/compositions.js';
import { isBoundPath, computeValueOnPath } from '../constraints/bound-path.js';
import { findConstraintClass } from '../constraints/catalogue.js';
import type { MeasuredPortfolio } from '../constraints/constraint-class.js';
import type { ConstraintRow } from '../constraints/constraint-row.js';
import type { CrossSections } from '../datapoints/cross-section.js';
import type { IndexWeights } from '../datapoints/expression-section.js';
import { readDatapoints } from './datapoints.js';
import { Refusal } from '../refusals/refusal.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';

export interface PathsInput {
  readonly composer: Composer;
  readonly parentId: string;
  readonly datapoints: () => CrossSections;
  readonly indexWeights: (indexId: string, session: number) => IndexWeights | null;
  /** Day of the decision. */
  readonly day: Day;
  /** Base date of the index. */
  readonly baseDay: Day;
}

/** Returns true if any bound of a row follows a path. */
export const hasBoundPath = ({ params }: ConstraintRow): boolean => Object.values(params).some(isBoundPath);

/** Returns the base dates that bound paths in the rows state. Paths based on the base date of the index are skipped. */
export function listPathDates(rows: readonly ConstraintRow[]): Day[] {
  return rows.flatMap(({ params }) =>
    Object.values(params).flatMap((bound) =>
      isBoundPath(bound) && typeof bound.base === 'string' ? [parseValidDay(bound.base)] : [],
    ),
  );
}

/**
 * Replaces bound paths by their values on the decision day.
 * @throws Refusal NO_DATA_AT_DATE if the source index has no review on or before a base date
 */
export function resolvePathValues(rows: readonly ConstraintRow[], input: PathsInput): readonly ConstraintRow[] {
  if (!rows.some(hasBoundPath)) return rows;
  return rows.map((row) => (hasBoundPath(row) ? resolveRowPath(row, input) : row));
}

function resolveRowPath(row: ConstraintRow, input: PathsInput): ConstraintRow {
  const { day, baseDay } = input;
  const entry = findConstraintClass(row.type)!; // documents have been validated
  const parsedParams = entry.params.parse(row.params);
  const computeValueAt = (base: Day): number => entry.measureOf!(parsedParams, measureParentOnDay(base, input)); // every class with bound paths defines it
  // A weight cannot exceed the whole portfolio, however far a path rises.
  const limit = (value: number): number => (entry.unit === 'fraction' ? Math.min(1, Math.max(-1, value)) : value);
  const params = Object.entries(parsedParams).map(([name, value]): [string, unknown] => [
    name,
    isBoundPath(value) ? limit(computeValueOnPath(value, { day, baseDay, valueAt: computeValueAt })) : value,
  ]);
  return { ...row, params: { ...row.params, ...Object.fromEntries(params.filter(([name]) => name in row.params)) } };
}

/**
 * Returns the source index as decided by its latest review on or before a day, with the datapoints of that decision.
 */
function measureParentOnDay(day: Day, { composer, parentId, datapoints, indexWeights }: PathsInput): MeasuredPortfolio {
  const review = composer.decidedOn(parentId, composer.market(parentId).sessionAt(day));
  if (review === undefined) {
    const message = `The index ${parentId} has no review on or before ${formatDay(day)}, the base of a bound.`;
    throw new Refusal('NO_DATA_AT_DATE', message, { index_id: parentId, date: formatDay(day) });
  }
  const { columns, weights } = restoreDecided(review);
  const cross = datapoints()
    .at(review.decision, columns)
    .given({ incumbents: null, indexWeights: (id) => indexWeights(id, review.decision) });
  const { numbers, categories } = readDatapoints(cross, columns);
  return { weights, numbers, categories };
}
