import type {
  DataDifference,
  DataStore,
  DataVersions as Versions,
  PriceOverrides,
} from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Facts } from '../../components/facts.js';
import { keepWordsWhole, Metrics } from '../../components/metrics.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import { VersionHistory } from '../../components/versions/version-history.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { usePhone } from '../../components/use-phone.js';
import { formatMoment } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import { formatBytes, formatCount, countValues } from '../../words/numbers.js';

type Version = Versions['versions'][number];
type Cell = DataDifference['changes'][number];

/** Renders the versions of a store that were served. Each shows its origin and its changes. */
export function DataVersions({ store }: { readonly store: DataStore }) {
  const { store_id: id } = store;
  const list = useResource(`data versions ${id}`, (signal) =>
    service.value.call('listDataVersions', { params: { store_id: id }, signal }),
  );
  return (
    <Answered resource={list} what="the versions of the data">
      {({ versions, total }) => {
        const openVersion = versions.find(({ version }) => String(version) === getParameter('version')) ?? versions[0];
        return (
          <>
            <Table
              label={`versions of the data of ${id}`}
              columns={COLUMNS}
              rows={versions}
              getKey={({ version }) => String(version)}
              openKey={openVersion === undefined ? null : String(openVersion.version)}
              onOpen={({ version }) => setParameters({ version: String(version) })}
              height={360}
              empty="No versions yet. A version is added when the store is served."
            />
            {total > versions.length && (
              <p class="quiet">
                The newest {formatCount(versions.length)} of {formatCount(total)}.
              </p>
            )}
            {openVersion !== undefined && (
              <Difference store={store} version={openVersion} isNewest={openVersion === versions[0]} />
            )}
            <VersionHistory kind="store" id={id} />
          </>
        );
      }}
    </Answered>
  );
}

interface DifferenceProps {
  readonly store: DataStore;
  readonly version: Version;
  readonly isNewest: boolean;
}

/** Renders the changes of a version against the previous one. */
function Difference({ store, version: shown, isNewest }: DifferenceProps) {
  const { store_id: id } = store;
  const { version } = shown;
  const isCompared = version > 1;
  const difference = useResource(isCompared ? `data difference ${id} ${version}` : null, (signal) =>
    service.value.call('diffDataVersions', {
      params: { store_id: id },
      query: { from: version - 1, to: version },
      signal,
    }),
  );
  const overrides = useResource(isCompared ? `overrides ${id}` : null, (signal) =>
    service.value.call('listPriceOverrides', { params: { store_id: id }, signal }),
  );
  const findOverride = ({ identifier, date, field }: Cell) =>
    field === 'CLOSE'
      ? overrides.data?.overrides.find((one) => one.identifier === identifier && one.date === date)
      : undefined;
  return (
    <Section title={`Version ${version}`} aside={version > 1 && `since version ${version - 1}`}>
      <Origin version={shown} />
      {version === 1 && (
        <p class="quiet">
          The first version has nothing to be compared with. A refresh, an import or an override that changes values
          makes the next one, with a table of what changed.
        </p>
      )}
      <Answered resource={difference} what="the values that changed">
        {({ cells, changes, appended }) => (
          <>
            <p class="quiet">
              {cells === 0 ? 'No existing values changed.' : `${countValues(cells, 'value')} changed`}
              {cells > changes.length && `; the first ${formatCount(changes.length)} are shown`}
              {appended !== null &&
                ` Appended: ${countValues(appended.sessions, 'session')}, ${appended.start} to ${appended.end}.`}
            </p>
            {changes.length > 0 && (
              <Table
                label="values that changed"
                columns={createCellColumns(findOverride)}
                rows={changes}
                getKey={({ table, identifier, date, field }) => `${table} ${identifier} ${date} ${field}`}
                height={420}
              />
            )}
          </>
        )}
      </Answered>
      {isNewest && <Content store={store} />}
    </Section>
  );
}

/** Renders the facts of a version that its row in the table does not contain. */
function Origin({ version }: { readonly version: Version }) {
  const { readable, content_hash: hash } = version;
  const { rows_added: added, rows_changed: changed, rows_removed: removed } = version;
  const isPhone = usePhone();
  return (
    <Facts
      isWide
      facts={[
        [
          'Rows',
          isPhone
            ? `${formatCount(added)} added, ${formatCount(changed)} changed, ${formatCount(removed)} removed`
            : null,
        ],
        [
          'Available',
          readable ? 'runs and queries can use it, as known on its date' : 'no, only its differences are kept',
        ],
        ['Content', <code title={hash}>{hash.slice(0, 16)}…</code>],
      ]}
    />
  );
}

/** Renders the size of the current content. */
function Content({ store: { identifiers, start, end, rows, size_bytes: size } }: { readonly store: DataStore }) {
  return (
    <Metrics
      label="Current content"
      metrics={[
        { term: 'Securities', value: formatCount(identifiers) },
        { term: 'Dates', value: end ?? '–', ...(start === null ? {} : { note: `from ${start}` }) },
        ...Object.entries(rows ?? {})
          .filter(([, value]) => value > 0)
          .toSorted(([, a], [, b]) => b - a)
          .map(([table, value]) => ({ term: formatLabel(table), value: formatCount(value), note: 'rows' })),
        { term: 'Size', value: formatBytes(size) },
      ]}
    />
  );
}

type CellOverride = PriceOverrides['overrides'][number];

const formatValue = (value: Cell['before']): string | null => (value === null ? null : String(value));

/** @param findOverride returns the price override that caused a value to change */
const createCellColumns = (findOverride: (cell: Cell) => CellOverride | undefined): readonly Column<Cell>[] => [
  { id: 'security', title: 'Security', width: 84, grow: 1, value: ({ identifier }) => identifier },
  { id: 'date', title: 'Date', width: 104, value: ({ date }) => date ?? 'always' },
  { id: 'field', title: 'Field', width: 96, priority: 2, value: ({ field }) => field },
  { id: 'before', title: 'Before', width: 76, align: 'right', value: ({ before }) => formatValue(before) },
  { id: 'after', title: 'After', width: 76, align: 'right', value: ({ after }) => formatValue(after) },
  { id: 'table', title: 'Table', width: 96, priority: 4, value: ({ table }) => table.replaceAll('_', ' ') },
  {
    id: 'why',
    title: 'Why',
    width: 160,
    grow: 3,
    priority: 3,
    value: (cell) => findOverride(cell)?.reason ?? null,
    show: (cell) => <Overridden override={findOverride(cell)} />,
  },
];

function Overridden({ override }: { readonly override: CellOverride | undefined }) {
  if (override === undefined) return <>–</>;
  const { author, reason } = override;
  return (
    <span title={`${author}: ${reason}`}>
      <Badge kind="info">override</Badge> {author}: {reason}
    </span>
  );
}

const createRowsColumn = (title: string, countRows: (version: Version) => number): Column<Version> =>
  createNumericColumn({
    id: title,
    title,
    help: 'Rows, compared with the previous version',
    width: 72,
    priority: 5,
    below: 'nothing',
    of: countRows,
    write: formatCount,
  });

/** Formats the origin of a version. The refresh that applies or withdraws a price override is named after the override. */
const formatSource = ({ source, note }: Version): string =>
  source === 'refresh' && /^(?:Override by|Withdraw the override)/.test(note ?? '')
    ? 'override'
    : source.replaceAll('_', ' ');

const COLUMNS: readonly Column<Version>[] = [
  {
    id: 'version',
    title: 'Version',
    width: 64,
    align: 'right',
    value: ({ version }) => version,
    show: ({ version }) => <strong>{version}</strong>,
  },
  { id: 'source', title: 'Created by', width: 84, value: formatSource },
  {
    id: 'at',
    title: 'Known since',
    help: 'Time from which this version is the newest; runs as known on an earlier date use an earlier one',
    width: 160,
    value: (row) => row.known_at,
    show: (row) => formatMoment(row.known_at),
  },
  createRowsColumn('Added', (row) => row.rows_added),
  createRowsColumn('Changed', (row) => row.rows_changed),
  createRowsColumn('Removed', (row) => row.rows_removed),
  { id: 'author', title: 'Who', width: 64, priority: 2, value: ({ author }) => author },
  {
    id: 'readable',
    title: 'Available',
    help: 'Runs and queries can use this version, as known on its date',
    width: 80,
    priority: 4,
    below: 'titled',
    value: ({ readable }) => Number(readable),
    copy: ({ readable }) => (readable ? 'yes' : 'no'),
    show: ({ readable }) => (readable ? <Badge kind="good">yes</Badge> : <Badge>no</Badge>),
  },
  {
    id: 'note',
    title: 'Reason',
    width: 120,
    grow: 9,
    priority: 3,
    lines: 2,
    value: ({ note }) => note,
    show: ({ note }) => (note === null ? '–' : keepWordsWhole(note)),
  },
];
