import type { RebalanceRow } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatCost, formatCount, formatPercent } from '../../words/numbers.js';

/** Rebalance with the number of constituents that left after the rebalance before it. */
export interface Row extends RebalanceRow {
  readonly left: number;
}

/** Adds to each rebalance how many constituents left between the rebalance before it and its session. */
export const addLeft = (rebalances: readonly RebalanceRow[]): readonly Row[] =>
  rebalances.map((row, r) => {
    const heldBefore = row.gross_constituents - row.added + row.removed;
    return { ...row, left: r === 0 ? 0 : Math.max(0, rebalances[r - 1]!.gross_constituents - heldBefore) };
  });

/** Returns true for the initial construction. It has no cost, and all its positions are new. */
export const isFirst = ({ cost_fraction: cost, added, gross_constituents: constituents }: RebalanceRow): boolean =>
  cost === null && added === constituents;

/** Renders the largest of some securities and the number of the others, for example `AAA, BBB +3`. */
function renderSecurities(names: readonly string[], count: number) {
  if (count === 0) return <span class="quiet">none</span>;
  const restCount = count - names.length;
  return (
    <span title={names.join(', ') + (restCount > 0 ? ` and ${formatCount(restCount)} more` : '')}>
      {names.join(', ')}
      {restCount > 0 && <span class="quiet"> +{formatCount(restCount)}</span>}
    </span>
  );
}

export const createRebalanceColumns = (formatAddress: (row: Row) => string): readonly Column<Row>[] => [
  {
    id: 'date',
    title: 'In effect',
    width: 100,
    value: ({ date }) => date,
    show: (row) => (
      <a href={formatAddress(row)} tabIndex={-1}>
        {row.date}
      </a>
    ),
  },
  ...COLUMNS,
];

/** Layout of the columns of added and of removed securities. */
const MEMBER_COLUMN = {
  help: 'Largest securities; sorted by their number',
  width: 130,
  ideal: 150,
  grow: 3,
  priority: 2,
  below: 'titled',
} as const;

const COLUMNS: readonly Column<Row>[] = [
  {
    id: 'decided',
    title: 'Decided',
    help: 'Session whose data decided the weights',
    width: 100,
    grow: 1,
    priority: 3,
    value: (row) => row.decision_date,
  },
  {
    id: 'cause',
    title: 'Called by',
    help: 'The schedule, or a breach of a rule of the definition',
    width: 92,
    priority: 6,
    value: ({ cause }) => cause,
    show: ({ cause }) => (cause === 'schedule' ? cause : <Badge kind="warning">{cause.replace('_', ' ')}</Badge>),
  },
  {
    id: 'review',
    title: 'Review',
    help: 'Review of the definition that decided it',
    width: 92,
    priority: 7,
    value: ({ review }) => review,
  },
  createNumericColumn({
    id: 'names',
    title: 'Constituents',
    width: 92,
    priority: 3,
    of: (row) => row.constituents,
    write: formatCount,
  }),
  {
    ...MEMBER_COLUMN,
    id: 'added',
    title: 'Added',
    value: ({ added }) => added,
    show: (row) => (isFirst(row) ? <span class="quiet">all</span> : renderSecurities(row.largest_added, row.added)),
  },
  {
    ...MEMBER_COLUMN,
    id: 'removed',
    title: 'Removed',
    value: ({ removed }) => removed,
    show: (row) => renderSecurities(row.largest_removed, row.removed),
  },
  createNumericColumn({
    id: 'left',
    title: 'Left between rebalances',
    help: 'Constituents that left after the rebalance before, for example because they were delisted',
    width: 164,
    priority: 3,
    of: (row) => row.left,
    write: formatCount,
  }),
  {
    id: 'turnover',
    title: 'One-way turnover',
    help: 'Half the sum of the absolute weight changes',
    width: 136,
    align: 'right',
    value: (row) => row.turnover,
    show: (row) =>
      isFirst(row) ? (
        <span class="quiet" title="Nothing was held before">
          initial construction
        </span>
      ) : (
        formatPercent(row.turnover)
      ),
  },
  createNumericColumn({
    id: 'cost',
    title: 'Cost',
    help: 'Basis points of the value at the previous close',
    width: 92,
    priority: 4,
    of: (row) => row.cost_fraction,
    write: formatCost,
  }),
  createNumericColumn({
    id: 'capped',
    title: 'At cap',
    width: 72,
    priority: 5,
    of: (row) => row.capped,
    write: formatCount,
  }),
];
