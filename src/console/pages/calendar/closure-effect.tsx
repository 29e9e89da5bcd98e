import type { ClosureEffect } from '#clients/typescript/divisor.js';
import { Facts } from '../../components/facts.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { indexAddress } from '../../words/addresses.js';
import { NONE } from '../../words/numbers.js';

type IndexEffect = ClosureEffect['indices'][number];

/** Sessions, rebalances, published closes and days of schedules that recorded changes alter. */
export function Effect({ effect: { added, removed, hours, indices, schedules } }: { readonly effect: ClosureEffect }) {
  const counts = added.length + removed.length + hours.length + indices.length + schedules.length;
  if (counts === 0) return <p>These changes alter no session, index or schedule.</p>;
  return (
    <>
      <Facts
        facts={[
          ['Sessions lost', listed(removed)],
          ['Sessions added', listed(added)],
          ['Sessions with other hours', listed(hours)],
          ...schedules.map(
            ({ schedule_id: id, ended, missing }) =>
              [
                `Schedule ${id}`,
                [
                  ended.length === 0 ? [] : [`ends the open days ${ended.join(', ')}`],
                  missing.length === 0 ? [] : [`lacks the days ${missing.join(', ')}: perform them by backfill`],
                ]
                  .flat()
                  .join('; '),
              ] as const,
          ),
        ]}
      />
      {indices.length > 0 && (
        <Table
          label="indices whose runs become stale"
          name="closure-indices"
          columns={COLUMNS}
          rows={indices}
          keyOf={({ index_id: id }) => id}
          height={360}
        />
      )}
    </>
  );
}

const listed = (dates: readonly string[]): string | null => (dates.length === 0 ? null : dates.join(', '));

const moves = ({ before, after }: IndexEffect): string => {
  const [lost, placed] = [before, after].map((dates) => dates.map(({ date }) => date).join(', '));
  return lost === placed ? '' : `${lost || NONE} → ${placed || NONE}`;
};

const COLUMNS: readonly Column<IndexEffect>[] = [
  {
    id: 'index',
    title: 'Stale index',
    width: 120,
    grow: 1,
    value: (row) => row.index_id,
    show: ({ index_id: id }) => <a href={indexAddress(id)}>{id}</a>,
  },
  { id: 'moves', title: 'Rebalances that move', width: 200, grow: 2, value: moves },
  {
    id: 'published',
    title: 'Published closes',
    help: 'Published closes on lost sessions; they stay',
    width: 130,
    grow: 1,
    priority: 2,
    value: ({ published }) => published.join(', '),
  },
  {
    id: 'unpublished',
    title: 'Without a close',
    help: 'Added sessions before the last published close',
    width: 130,
    grow: 1,
    priority: 2,
    value: ({ unpublished }) => unpublished.join(', '),
  },
];
