import type { PreviewResponse } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { nameColumn } from '../../components/name-column.js';
import { addPoints } from '../../components/signed.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import type { NameFacts } from '../../state/names.js';
import { formatPercent } from '../../words/numbers.js';
import type { BoundSide } from './bounds.js';

type RelaxedMove = PreviewResponse['assets'][number];

interface MoveMarks {
  /** Securities that are excluded because they have no risk estimate. */
  readonly uncovered: ReadonlySet<string>;
  /** Securities whose weight is at a bound. */
  readonly bounds: ReadonlyMap<string, BoundSide>;
}

/** Returns the columns of the securities whose weight differs from their index weight. */
export const createMoveColumns = (
  facts: ReadonlyMap<string, NameFacts>,
  { uncovered, bounds }: MoveMarks,
): readonly Column<RelaxedMove>[] => [
  { ...nameColumn(facts), ideal: 165, grow: 3 },
  createNumericColumn({
    id: 'index',
    adds: true,
    title: 'Index',
    width: 64,
    grow: 0,
    of: (row) => row.source_weight,
    write: formatPercent,
  }),
  {
    ...createNumericColumn({
      id: 'solved',
      adds: true,
      title: 'Solved',
      width: 64,
      grow: 0,
      of: (row: RelaxedMove) => row.solved_weight,
      write: formatPercent,
    }),
    show: ({ identifier, solved_weight: weight }) =>
      uncovered.has(identifier) ? (
        <Badge kind="warning" title="Excluded, because it has no risk estimate">
          excluded
        </Badge>
      ) : (
        formatPercent(weight)
      ),
  },
  {
    id: 'delta',
    title: 'Active',
    help: 'Weight minus index weight, in percentage points. Sorts by size, without the sign.',
    width: 80,
    grow: 0,
    align: 'right',
    value: ({ weight_delta: delta }) => (delta === null ? null : Math.abs(delta)),
    copy: ({ weight_delta: delta }) => delta,
    show: ({ weight_delta: delta }) => addPoints(delta),
  },
  ...(bounds.size === 0
    ? []
    : [
        {
          id: 'bound',
          title: 'Bound',
          width: 72,
          grow: 0,
          priority: 4,
          below: 'nothing' as const, // the binding bounds are listed above the table
          value: ({ identifier }: RelaxedMove) => bounds.get(identifier) ?? null,
          show: ({ identifier }: RelaxedMove) =>
            bounds.has(identifier) && <Badge kind="info">{bounds.get(identifier)}</Badge>,
        },
      ]),
];
