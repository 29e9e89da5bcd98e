import type {
  DataDifference,
  DataStore,
  DataVersions as Versions,
  PriceOverrides,
} from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { numeric, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { moment } from '../../words/dates.js';
import { count, countValues } from '../../words/numbers.js';

type Version = Versions['versions'][number];
type Cell = DataDifference['changes'][number];

/** Renders the contents of a store that were served, with the origin and the changes of each. */
export function DataVersions({ store: { store_id: id, active: isServed } }: { readonly store: DataStore }) {
  const list = useResource(`data versions ${id}`, (signal) =>
    service.value.call('listDataVersions', { params: { store_id: id }, signal }),
  );
  return (
    <Answered resource={list} what="the versions of the data">
      {({ versions, total }) => {
        const open = versions.find(({ version }) => String(version) === parameter('version')) ?? versions[0];
        return (
          <>
            <Table
              label={`versions of the data of ${id}`}
              columns={COLUMNS}
              rows={versions}
              keyOf={({ version }) => String(version)}
              openKey={open === undefined ? null : String(open.version)}
              onOpen={({ version }) => setParameters({ version: String(version) })}
              height={360}
              empty="No versions yet. A version is added when the store is served."
            />
            {total > versions.length && (
              <p class="quiet">
                The newest {count(versions.length)} of {count(total)}.
              </p>
            )}
            {open !== undefined && <Difference id={id} version={open} isServed={isServed} />}
          </>
        );
      }}
    </Answered>
  );
}

interface DifferenceProps {
  readonly id: string;
  readonly version: Version;
  readonly isServed: boolean;
}

/** Renders the changes of a version against the previous one. */
function Difference({ id, version: { version, note, rows_added: added }, isServed }: DifferenceProps) {
  const isCompared = isServed && version > 1;
  const difference = useResource(isCompared ? `data difference ${id} ${version}` : null, (signal) =>
    service.value.call('diffDataVersions', {
      params: { store_id: id },
      query: { from: version - 1, to: version },
      signal,
    }),
  );
  const given = useResource(isCompared ? `overrides ${id}` : null, (signal) =>
    service.value.call('listPriceOverrides', { params: { store_id: id }, signal }),
  );
  const overrideOf = ({ identifier, date, field }: Cell) =>
    field === 'CLOSE'
      ? given.data?.overrides.find((one) => one.identifier === identifier && one.date === date)
      : undefined;
  return (
    <Section title={`Version ${version}`} aside={version > 1 && `since version ${version - 1}`}>
      {note !== null && <p>{note}</p>}
      {version === 1 && <p class="quiet">The first version: {countValues(added, 'row')} were read.</p>}
      {version > 1 && !isServed && <p class="quiet">Serve the store to compare values.</p>}
      <Answered resource={difference} what="the values that changed">
        {({ cells, changes, appended }) => (
          <>
            <p class="quiet">
              {cells === 0 ? 'No existing values changed.' : `${countValues(cells, 'value')} changed`}
              {cells > changes.length && `; the first ${count(changes.length)} are shown`}
              {appended !== null &&
                ` Appended: ${countValues(appended.sessions, 'session')}, ${appended.start} to ${appended.end}.`}
            </p>
            {changes.length > 0 && (
              <Table
                label="values that changed"
                columns={cellColumns(overrideOf)}
                rows={changes}
                keyOf={({ table, identifier, date, field }) => `${table} ${identifier} ${date} ${field}`}
                height={420}
              />
            )}
          </>
        )}
      </Answered>
    </Section>
  );
}

type Override = PriceOverrides['overrides'][number];

const valueText = (value: Cell['before']): string | null => (value === null ? null : String(value));

/** @param overrideOf returns the price override that a changed value comes from */
const cellColumns = (overrideOf: (cell: Cell) => Override | undefined): readonly Column<Cell>[] => [
  { id: 'security', title: 'Security', width: 84, grow: 1, value: ({ identifier }) => identifier },
  { id: 'date', title: 'Date', width: 104, value: ({ date }) => date ?? 'always' },
  { id: 'field', title: 'Field', width: 96, priority: 2, value: ({ field }) => field },
  { id: 'before', title: 'Before', width: 76, align: 'right', value: ({ before }) => valueText(before) },
  { id: 'after', title: 'After', width: 76, align: 'right', value: ({ after }) => valueText(after) },
  { id: 'table', title: 'Table', width: 96, priority: 4, value: ({ table }) => table.replaceAll('_', ' ') },
  {
    id: 'why',
    title: 'Why',
    width: 160,
    grow: 3,
    priority: 3,
    value: (cell) => overrideOf(cell)?.reason ?? null,
    show: (cell) => <Overridden override={overrideOf(cell)} />,
  },
];

function Overridden({ override }: { readonly override: Override | undefined }) {
  if (override === undefined) return <>–</>;
  const { author, reason } = override;
  return (
    <span title={`${author}: ${reason}`}>
      <Badge kind="info">override</Badge> {author}: {reason}
    </span>
  );
}

const rows = (title: string, of: (version: Version) => number): Column<Version> =>
  numeric({
    id: title,
    title,
    help: 'Rows, compared with the previous version',
    width: 84,
    priority: 4,
    of,
    write: count,
  });

const COLUMNS: readonly Column<Version>[] = [
  {
    id: 'version',
    title: 'Version',
    width: 76,
    align: 'right',
    value: ({ version }) => version,
    show: ({ version }) => <strong>{version}</strong>,
  },
  { id: 'source', title: 'Created by', width: 96, value: ({ source }) => source.replaceAll('_', ' ') },
  { id: 'at', title: 'Served from', width: 172, value: (row) => row.known_at, show: (row) => moment(row.known_at) },
  rows('Added', (row) => row.rows_added),
  rows('Changed', (row) => row.rows_changed),
  rows('Removed', (row) => row.rows_removed),
  { id: 'author', title: 'Who', width: 100, priority: 5, value: ({ author }) => author },
  {
    id: 'readable',
    title: 'Available',
    help: 'Runs and queries can use this version, as known on its date',
    width: 96,
    priority: 3,
    value: ({ readable }) => Number(readable),
    copy: ({ readable }) => (readable ? 'yes' : 'no'),
    show: ({ readable }) => (readable ? <Badge kind="good">yes</Badge> : <Badge>no</Badge>),
  },
  { id: 'note', title: 'Why', width: 100, grow: 2, priority: 6, value: ({ note }) => note },
];
