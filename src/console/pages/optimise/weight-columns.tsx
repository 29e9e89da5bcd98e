import type { WeightRow } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { createNameColumns } from '../../components/name-column.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatPercent, formatPoints, getSignClass } from '../../words/numbers.js';
import type { NameFacts } from '../../state/names.js';
import type { PointRow } from './frontier-point.js';

/** Returns the columns of the weights of a run. */
export const createWeightColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  uncovered: ReadonlySet<string>,
): readonly Column<WeightRow>[] => [
  ...createNameColumns(facts),
  ...WEIGHT_COLUMNS,
  RISK_COLUMN,
  createBoundColumn(uncovered),
];

/** Returns the columns of the weights of a frontier point. */
export const createPointColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  uncovered: ReadonlySet<string>,
): readonly Column<PointRow>[] => [
  ...createNameColumns(facts),
  ...WEIGHT_COLUMNS,
  createSolutionColumn(),
  createBoundColumn(uncovered),
];

/** @param uncovered securities that were excluded because they have no risk estimate */
const createBoundColumn = (uncovered: ReadonlySet<string>): Column<WeightRow> => ({
  id: 'bound',
  title: 'Bound',
  width: 136,
  priority: 3,
  value: ({ identifier, at_bound: bound }) => (uncovered.has(identifier) ? UNCOVERED_TEXT : bound),
  show: ({ identifier, at_bound: bound }) =>
    uncovered.has(identifier) ? (
      <Badge kind="warning" title="Excluded, because it has no risk estimate">
        {UNCOVERED_TEXT}
      </Badge>
    ) : (
      bound !== null && <Badge kind="info">{bound}</Badge>
    ),
});

const UNCOVERED_TEXT = 'no risk estimate';

/** Column of the weight of the solution next to the weight of a frontier point. */
const createSolutionColumn = (): Column<PointRow> =>
  createNumericColumn({
    id: 'solution',
    title: 'Solution',
    help: 'Weight in the solution of the run',
    width: 96,
    priority: 2,
    of: ({ solution_weight: weight }) => weight,
    write: formatWeight,
  });

/** Number of decimals of a weight in percent. Optimised weights differ little from index weights. */
export const DIGITS = 3;

const formatWeight = (value: number): string => formatPercent(value, DIGITS);

/**
 * Rounds a weight as it is shown. Differences that are shown then equal the differences of the weights that are shown.
 */
const asShown = (weight: number): number => Math.round(weight * 10 ** (2 + DIGITS)) / 10 ** (2 + DIGITS);

/** Returns the active weight of a row: the difference between the weights that are shown. */
export const computeShownActive = ({
  weight,
  index_weight: index,
}: Pick<WeightRow, 'weight' | 'index_weight'>): number => asShown(weight) - asShown(index);

const renderActiveWeight = (value: number) => (
  <span class={getSignClass(value, DIGITS)}>{formatPoints(value, DIGITS)}</span>
);

const WEIGHT_COLUMNS: readonly Column<WeightRow>[] = [
  createNumericColumn({
    id: 'index',
    adds: true,
    title: 'Index',
    width: 84,
    of: (row) => row.index_weight,
    write: formatWeight,
  }),
  createNumericColumn({
    id: 'weight',
    adds: true,
    title: 'Weight',
    width: 84,
    of: ({ weight }) => weight,
    write: formatWeight,
  }),
  {
    id: 'active',
    title: 'Active weight',
    help: 'Weight minus index weight, both as shown, in percentage points',
    width: 110,
    align: 'right',
    value: (row) => row.active_weight,
    show: (row) => renderActiveWeight(computeShownActive(row)),
    total: renderActiveWeight,
  },
];

const formatContribution = (value: number | null): string => formatPercent(value, DIGITS);

/** Column of the contribution to the tracking error. Points of the frontier do not store it. */
const RISK_COLUMN: Column<WeightRow> = createNumericColumn({
  id: 'risk',
  adds: true,
  title: 'TE contribution',
  help: 'Contribution to the forecast tracking error, in per cent per year; the contributions add up to it',
  width: 116,
  priority: 2,
  of: (row) => row.risk_contribution,
  write: formatContribution,
});
