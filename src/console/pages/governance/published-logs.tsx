import type { GovernanceOverview } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Section } from '../../components/page.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { formatAddress } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';

export const useGovernance = () =>
  useResource('governance', (signal) => service.value.call('getGovernance', { signal }));

type Statement = GovernanceOverview['statements'][number];

/** Returns true if the log of an index has entries or cannot be read. */
export const isPublished = ({ entries }: Pick<Statement, 'entries'>): boolean => entries !== 0;

/** Formats the number of entries of a log, which is unknown if the log is unreadable. */
export const countOrNone = (value: number | null): string => (value === null ? MISSING_TEXT : formatCount(value));

/** Renders the last published date of an index. If the data has later sessions, shows their number. */
export function PublishedThrough({ state }: { readonly state: Statement }) {
  const { published_through: through, entries, data_through: end, sessions_behind: behind } = state;
  if (entries === null) return <Badge kind="bad">unreadable</Badge>;
  if (through === null) return <span class="quiet">not published</span>;
  return (
    <>
      {through}{' '}
      {behind !== null && behind > 0 && (
        <Badge kind="warning" title={`The data end on ${end}, ${countValues(behind, 'session')} later`}>
          {formatCount(behind)} behind
        </Badge>
      )}
    </>
  );
}

/** Renders the published logs. The closes of later runs are compared with them. */
export function PublishedLogs() {
  const overview = useGovernance();
  return (
    <Section title="Published closes" aside="each later run is compared with them">
      <Answered resource={overview} what="the published logs">
        {({ statements }) => (
          <Table
            label="published logs"
            columns={COLUMNS}
            rows={statements.filter(isPublished)}
            getKey={({ index_id: id }) => id}
            formatAddress={({ index_id: id }) => formatAddress(formatIndexAddress(id), { tab: 'publication' })}
            height={360}
            empty="No close is published yet."
          />
        )}
      </Answered>
    </Section>
  );
}

const COLUMNS: readonly Column<Statement>[] = [
  { id: 'index', title: 'Index', width: 110, value: (row) => row.index_id },
  {
    id: 'through',
    title: 'Published through',
    help: 'With the sessions of its data that follow',
    width: 176,
    value: (row) => row.published_through,
    show: (row) => <PublishedThrough state={row} />,
  },
  { id: 'data', title: 'Data through', width: 110, priority: 3, value: (row) => row.data_through },
  createNumericColumn({
    id: 'entries',
    title: 'Entries',
    width: 84,
    priority: 2,
    of: ({ entries }) => entries,
    write: countOrNone,
  }),
  createNumericColumn({ id: 'errors', title: 'Errors', width: 76, of: ({ errors }) => errors, write: formatCount }),
];
