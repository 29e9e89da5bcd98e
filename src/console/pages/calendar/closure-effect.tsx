import type { ClosureEffect } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Facts } from '../../components/facts.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { countValues, MISSING_TEXT } from '../../words/numbers.js';

type IndexEffect = ClosureEffect['indices'][number];

/** Renders the sessions, rebalances, published closes and schedule days that the recorded changes affect. */
export function Effect({ effect: { added, removed, hours, indices, schedules } }: { readonly effect: ClosureEffect }) {
  const counts = added.length + removed.length + hours.length + indices.length + schedules.length;
  if (counts === 0) return <p>These changes alter no session, index or schedule.</p>;
  const stale = indices.filter((index) => index.stale.length > 0).length;
  return (
    <>
      <Facts
        facts={[
          ['Sessions lost', formatDates(removed)],
          ['Sessions added', formatDates(added)],
          ['Sessions with other hours', formatDates(hours)],
          [
            'Runs that become stale',
            indices.length === 0 ? null : `${stale} of ${countValues(indices.length, 'index', 'indices')}`,
          ],
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
          label="indices on the calendar"
          name="closure-indices"
          columns={COLUMNS}
          rows={indices.toSorted((a, b) => computeWeight(b) - computeWeight(a))}
          getKey={({ index_id: id }) => id}
          height={360}
        />
      )}
    </>
  );
}

/** Returns a weight for sorting indices. Indices with stale runs come first, then indices with moved rebalances. */
const computeWeight = ({ stale, before, after }: IndexEffect): number =>
  (stale.length > 0 ? 2 : 0) + (before.length + after.length > 0 ? 1 : 0);

const formatDates = (dates: readonly string[]): string | null => (dates.length === 0 ? null : dates.join(', '));

const describeMove = ({ before, after }: IndexEffect): string => {
  const [lost, placed] = [before, after].map((dates) => dates.map(({ date }) => date).join(', '));
  return lost === placed ? '' : `${lost || MISSING_TEXT} → ${placed || MISSING_TEXT}`;
};

const COLUMNS: readonly Column<IndexEffect>[] = [
  {
    id: 'index',
    title: 'Index',
    width: 120,
    grow: 1,
    value: (row) => row.index_id,
    show: ({ index_id: id }) => <a href={formatIndexAddress(id)}>{id}</a>,
  },
  {
    id: 'stale',
    title: 'Latest run',
    width: 200,
    grow: 3,
    value: ({ stale }) => stale.join(' '),
    show: ({ stale }) =>
      stale.length === 0 ? (
        <span class="quiet">stays current</span>
      ) : (
        <span title={stale.join(' ')}>
          <Badge kind="warning">stale</Badge>{' '}
          {stale.join(' ').replace(/^The calendar (\S+) changed since this run/, '$1')}
        </span>
      ),
  },
  { id: 'moves', title: 'Rebalances that move', width: 200, grow: 2, value: describeMove },
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
