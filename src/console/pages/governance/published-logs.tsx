import type { BacktestRecordCollection, GovernanceOverview, ScheduleCollection } from '#clients/typescript/divisor.js';
import { useMemo } from 'preact/hooks';
import { Answered, Badge } from '../../components/feedback.js';
import { Section } from '../../components/layout/page.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { formatAddress } from '../../state/location.js';
import { useList } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { formatQuantity } from '../../words/quantities.js';

export const useGovernance = () => useList('governance');

type Statement = GovernanceOverview['statements'][number];

/** Returns true if the log of an index has entries or cannot be read. */
export const isPublished = ({ entries }: Pick<Statement, 'entries'>): boolean => entries !== 0;

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

export function PublishedLogs() {
  const overview = useGovernance();
  const runs = useList('backtests');
  const schedules = useList('schedules');
  const columns = useMemo(
    () =>
      COLUMNS.toSpliced(
        3,
        0,
        createRunColumn(runs.data?.backtests ?? []),
        createPolicyColumn(schedules.data?.schedules ?? []),
      ),
    [runs.data, schedules.data],
  );
  return (
    <Section title="Published closes" aside="each later run is compared with them">
      <Answered resource={overview} what="the published logs">
        {({ statements }) => (
          <Table
            label="published logs"
            columns={columns}
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

/** Returns the size in basis points from which the schedule of each index announces or restates an error. */
const mapPolicies = (schedules: ScheduleCollection['schedules']): ReadonlyMap<string, number> =>
  new Map(
    schedules.flatMap(({ indices, steps }) =>
      steps.flatMap((step) =>
        step.type === 'publish' && step.errors != null
          ? indices.map((id) => [id, step.errors!.materiality_bps] as const)
          : [],
      ),
    ),
  );

function createRunColumn(runs: BacktestRecordCollection['backtests']): Column<Statement> {
  const times = new Map(runs.map(({ index_id: id, run_at: time }) => [id, time]));
  return {
    id: 'run',
    title: 'Latest run',
    help: 'Time of the newest run, whose levels are compared with the published closes',
    width: 166,
    priority: 4,
    value: ({ index_id: id }) => times.get(id) ?? '',
    show: ({ index_id: id }) => formatMoment(times.get(id) ?? null),
  };
}

function createPolicyColumn(schedules: ScheduleCollection['schedules']): Column<Statement> {
  const policies = mapPolicies(schedules);
  return {
    id: 'policy',
    title: 'Material from',
    help: 'Size from which an error is material, in the schedule of the index',
    width: 110,
    align: 'right',
    priority: 5,
    value: ({ index_id: id }) => policies.get(id) ?? null,
    show: ({ index_id: id }) => {
      const size = policies.get(id);
      return size === undefined ? <span class="quiet">no policy</span> : formatQuantity(size, 'bp');
    },
  };
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
  {
    id: 'entries',
    title: 'Log entries',
    help: 'Published closes and restatements',
    width: 90,
    priority: 2,
    write: formatCount,
  },
  { id: 'errors', title: 'Errors', width: 76, write: formatCount },
];
