import './data.css';
import { useState } from 'preact/hooks';
import type {
  Approval,
  DataDifference,
  DataStore,
  DataVersions as Versions,
  PriceOverrides,
} from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/controls/action-button.js';
import { Button, LinkButton } from '../../components/controls/button.js';
import { CommentInput } from '../../components/controls/comment.js';
import { Answered, Badge, Banner, EmptyState, Problem } from '../../components/feedback.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { JobState } from '../../components/jobs.js';
import { Confirm } from '../../components/layout/dialog.js';
import { Facts, keepWordsWhole, Metrics } from '../../components/layout/facts.js';
import { GuideLink, Page, Section } from '../../components/layout/page.js';
import { findOpenTab, type Tab, Tabs } from '../../components/layout/tabs.js';
import { usePhone } from '../../components/layout/viewport.js';
import { type Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { VersionHistory } from '../../components/versions/history.js';
import { activateStore, tryAction, type OnRefusal, submitJob } from '../../state/actions.js';
import { addQuery, getParameter, navigate, type PageProps, setParameters } from '../../state/location.js';
import { may, notifyChange, service, type Trouble, useAnswer, useList, useResource } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatApprovalAddress } from '../../words/addresses.js';
import { formatMoment, isDate } from '../../words/dates.js';
import { formatLabel } from '../../words/labels.js';
import {
  countValues,
  formatBytes,
  formatChange,
  formatCount,
  formatDecimal,
  formatFigure,
  formatMoney,
} from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { formatFirstNames } from '../../words/quantities.js';
import { STORE_PARTS } from '../../words/search.js';
import { usePendingApprovals } from '../approvals/requests.js';
import { NameTable } from '../names/name-table.js';
import { Coverage } from './coverage.js';
import { StoreOverview } from './store-overview.js';
import { runningStoreJob, useStoreUsers } from './store-state.js';
import { DataWarnings } from './warnings.js';

/** Request to override a price that other persons have not decided yet. */
type PendingOverride = Omit<Approval, 'facts'> & OverrideFacts;

type OverrideFacts = Extract<Approval['facts'], { readonly kind: 'override' }>;

/**
 * Renders the requested overrides of a store that wait for other persons. Renders nothing if overrides need no
 * approval.
 */
function PendingOverrides({ store }: { readonly store: string }) {
  const pending = usePendingApprovals();
  const rule = pending.data?.rules.find(({ action }) => action === 'override');
  if (pending.data === undefined || rule === undefined) return null;
  const rows = pending.data.approvals.flatMap(({ facts, ...approval }): PendingOverride[] =>
    facts?.kind === 'override' && facts.store_id === store ? [{ ...approval, ...facts }] : [],
  );
  return (
    <Section title="Waiting for approval" aside={`an override needs ${rule.persons} persons`}>
      <Table
        label="requested overrides"
        name="requested"
        columns={COLUMNS}
        rows={rows}
        getKey={({ approval_id: id }) => String(id)}
        formatAddress={({ approval_id: id }) => formatApprovalAddress(id)}
        height={220}
        empty="No override waits for approval."
      />
    </Section>
  );
}

const COLUMNS: readonly Column<PendingOverride>[] = [
  {
    id: 'request',
    title: 'Request',
    width: 88,
    value: ({ approval_id: id }) => id,
    show: ({ approval_id: id }) => (
      <a href={formatApprovalAddress(id)} tabIndex={-1}>
        Approval {id}
      </a>
    ),
  },
  { id: 'security', title: 'Security', width: 84, value: ({ identifier }) => identifier },
  { id: 'session', title: 'Session', width: 104, value: ({ date }) => date },
  { id: 'before', title: 'Price now', width: 92, priority: 2, write: (value) => formatDecimal(value, 4) },
  {
    id: 'price',
    title: 'Requested',
    width: 100,
    align: 'right',
    show: ({ price }) => (price === null ? 'withdrawal' : formatDecimal(price, 4)),
  },
  { id: 'change', title: 'Change', width: 84, priority: 4, write: formatChange },
  {
    id: 'agreed',
    title: 'Agreed',
    width: 84,
    priority: 2,
    value: ({ persons, missing }) => `${persons - missing} of ${persons}`,
    showBelow: ({ persons, missing }) => `${persons - missing} of ${persons} agreed`,
  },
  {
    id: 'author',
    title: 'Author',
    width: 90,
    priority: 5,
    below: 'titled',
    value: ({ requested_by: author }) => author,
  },
  {
    id: 'at',
    title: 'Time',
    width: 172,
    priority: 7,
    below: 'nothing',
    value: ({ requested_at: at }) => at,
    show: ({ requested_at: at }) => formatMoment(at),
  },
  { id: 'reason', title: 'Reason', width: 140, grow: 1, priority: 3, lines: 2 },
];

type Override = PriceOverrides['overrides'][number];

function Overrides({ store }: { readonly store: DataStore }) {
  const { store_id: id, managed } = store;
  const overrideList = useAnswer('listPriceOverrides', { params: { store_id: id } });
  const [trouble, setTrouble] = useState<Trouble | null>(null);
  if (managed)
    return (
      <EmptyState
        title="Prices of this store are corrected by an import"
        action={
          may('data') && (
            <>
              <LinkButton href="/console/data/import">Import</LinkButton>{' '}
              <LinkButton href={addQuery({ tab: 'doubts' })}>Warnings with a repair</LinkButton>
            </>
          )
        }
      >
        An override replaces a price of a connected folder or database. This store keeps imported or generated prices:
        import the corrected rows with “If the id exists: replace”.
      </EmptyState>
    );
  /** @returns true if the change is stored */
  const send = async (location: PriceLocation, price: number | null, reason: string) => {
    setTrouble(null);
    const body = { ...location, price, reason };
    const answer = await tryAction(
      () => service.value.call('overridePrice', { params: { store_id: id }, body }),
      setTrouble,
    );
    if (answer === undefined) {
      notifyChange(); // the service may have stored a request for approval
      return false;
    }
    const when = answer.job_id === null ? 'The next refresh applies it.' : 'A refresh applies it now.';
    showToast('good', `${price === null ? 'The override was withdrawn' : 'The price was overridden'}. ${when}`);
    notifyChange();
    return true;
  };
  return (
    <>
      <p>
        The files or the database of the vendor are not changed. Every read of the store has the price of the override
        until it is withdrawn; indices with the security become stale.{' '}
        <GuideLink page="schedules">Price overrides</GuideLink>
      </p>
      <Section title="Overrides in force" aside={`prices in ${store.currency ?? 'the currency of each security'}`}>
        <Answered resource={overrideList} what="the overrides">
          {({ overrides }) => (
            <Table
              label="price overrides"
              name="overrides"
              columns={createColumns(send)}
              rows={overrides}
              getKey={({ identifier, date }) => `${identifier} ${date}`}
              sort={{ column: 'date', direction: 'desc' }}
              height={420}
              empty="No override: every price is that of the source."
            />
          )}
        </Answered>
      </Section>
      <PendingOverrides store={id} />
      {may('data') && (
        <Section title="New override">
          {trouble !== null && <Problem trouble={trouble} />}
          <NewOverride store={store} trouble={trouble} send={send} />
        </Section>
      )}
    </>
  );
}

interface PriceLocation {
  readonly identifier: string;
  readonly date: string;
}

/** Sends a change. @returns true if it is stored */
type SendOverride = (location: PriceLocation, price: number | null, reason: string) => Promise<boolean>;

const FIELDS: readonly FieldSpec[] = [
  { name: 'identifier', label: 'Security', kind: 'text', isRequired: true },
  { name: 'date', label: 'Session', kind: 'date', isRequired: true },
  {
    name: 'price',
    label: 'Price',
    kind: 'number',
    isRequired: true,
    help: 'Close in place of that of the source, in the same currency.',
  },
];

interface NewOverrideProps {
  readonly store: DataStore;
  readonly trouble: Trouble | null;
  readonly send: SendOverride;
}

function NewOverride({ store, trouble, send }: NewOverrideProps) {
  const [given, setGiven] = useState<JsonObject>({
    identifier: getParameter('security') ?? '',
    date: getParameter('date') ?? '',
    ...(getParameter('price') === null ? {} : { price: Number(getParameter('price')) }),
  });
  const [reason, setReason] = useState('');
  const needsApproval = usePendingApprovals().data?.rules.some(({ action }) => action === 'override') === true;
  const identifier = String(given['identifier'] ?? '');
  const date = String(given['date'] ?? '');
  const price = typeof given['price'] === 'number' ? given['price'] : null;
  const isReady = identifier !== '' && isDate(date) && price !== null && reason.trim() !== '';
  const act = async () => {
    if (!(await send({ identifier, date }, price, reason))) return;
    setGiven({ identifier: '', date: '' });
    setReason('');
    setParameters({ security: null, date: null, price: null });
  };
  return (
    <section class="form-card" aria-label="Override a price">
      <FieldGrid>
        {FIELDS.map((spec) => (
          <Field
            key={spec.name}
            spec={spec}
            value={given[spec.name]}
            findings={(trouble?.findings ?? []).filter(({ path }) => path === spec.name)}
            onChange={(value) => setGiven({ ...given, [spec.name]: value })}
          />
        ))}
      </FieldGrid>
      {identifier !== '' && isDate(date) && <Present store={store} place={{ identifier, date }} price={price} />}
      <CommentInput label="Reason, with the source of the price" isRequired value={reason} onChange={setReason} />
      <div class="flow gap-3 form-actions">
        <ActionButton kind="main" disabled={!isReady} act={act}>
          {needsApproval ? 'Request the override' : 'Override the price'}
        </ActionButton>
      </div>
    </section>
  );
}

interface PresentProps {
  readonly store: DataStore;
  readonly place: PriceLocation;
  readonly price: number | null;
}

/** Renders the current close, which the override replaces. */
function Present({ store, place: { identifier, date }, price }: PresentProps) {
  const close = useResource(`close ${store.store_id} ${store.content_hash} ${identifier} ${date}`, async (signal) => {
    const query = { start: date, end: date, columns: ['CLOSE'], store_id: store.store_id };
    const { prices } = await service.value.call('getPrices', { params: { identifier }, query, signal });
    return (prices.data[0]?.[0] ?? null) as number | null; // the column CLOSE contains numbers
  });
  if (close.data === undefined) return null;
  if (close.data === null) return <p class="quiet">{identifier} has no close on that session.</p>;
  return (
    <p>
      The close is {formatMoney(formatFigure(close.data), store.currency)} now
      {price === null ? '' : `: ${formatChange(price / close.data - 1)}`}.
    </p>
  );
}

const createColumns = (send: SendOverride): readonly Column<Override>[] => [
  { id: 'identifier', title: 'Security', width: 90, grow: 1 },
  { id: 'date', title: 'Session', width: 100 },
  { id: 'price', title: 'Price', width: 84, priority: 2, write: (value) => formatDecimal(value, 4) },
  {
    id: 'source',
    title: 'Of the source',
    help: 'Close of the source at the time of the override',
    width: 100,
    priority: 3,
    value: ({ source_price: price }) => price,
    write: (value) => formatDecimal(value, 4),
  },
  {
    id: 'reason',
    title: 'Reason',
    width: 160,
    grow: 3,
    priority: 3,
    lines: 2,
    show: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { id: 'author', title: 'Author', width: 90, priority: 4, below: 'nothing' },
  { id: 'at', title: 'Time', width: 172, priority: 5, below: 'nothing', show: ({ at }) => formatMoment(at) },
  {
    id: 'withdraw',
    title: '',
    width: 96,
    align: 'right',
    value: () => null,
    show: ({ identifier, date }) =>
      may('data') && (
        <ActionButton
          kind="bare"
          aria-label={`Withdraw the override of ${identifier} on ${date}`}
          act={() => send({ identifier, date }, null, 'Withdrawn in the console')}
        >
          Withdraw
        </ActionButton>
      ),
  },
];

type Version = Versions['versions'][number];
type Cell = DataDifference['changes'][number];

/** Renders the versions of a store that were served. Each shows its origin and its changes. */
function DataVersions({ store }: { readonly store: DataStore }) {
  const { store_id: id } = store;
  const list = useAnswer('listDataVersions', { params: { store_id: id } });
  return (
    <Answered resource={list} what="the versions of the data">
      {({ versions, total }) => {
        const openVersion = versions.find(({ version }) => String(version) === getParameter('version')) ?? versions[0];
        return (
          <>
            <Table
              label={`versions of the data of ${id}`}
              columns={STORE_PAGE_COLUMNS}
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
  const difference = useAnswer(
    'diffDataVersions',
    isCompared ? { params: { store_id: id }, query: { from: version - 1, to: version } } : null,
  );
  const overrides = useAnswer('listPriceOverrides', isCompared ? { params: { store_id: id } } : null);
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
  { id: 'field', title: 'Field', width: 96, priority: 2 },
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

const createRowsColumn = (title: string, countRows: (version: Version) => number): Column<Version> => ({
  id: title,
  title,
  help: 'Rows, compared with the previous version',
  width: 72,
  priority: 5,
  below: 'nothing',
  value: countRows,
  write: formatCount,
});

/** Formats the origin of a version. The refresh that applies or withdraws a price override is named after the override. */
const formatSource = ({ source, note }: Version): string =>
  source === 'refresh' && /^(?:Override by|Withdraw the override)/.test(note ?? '')
    ? 'override'
    : source.replaceAll('_', ' ');

const STORE_PAGE_COLUMNS: readonly Column<Version>[] = [
  { id: 'version', title: 'Version', width: 64, align: 'right', show: ({ version }) => <strong>{version}</strong> },
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
  { id: 'author', title: 'Who', width: 64, priority: 2 },
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
    show: ({ note }) => (note === null ? '–' : keepWordsWhole(note)),
  },
];

/** @param isFull true if the service reads all values again, false if it reads only later dates */
const refreshStore = (id: string, isFull: boolean, onRefusal: OnRefusal) =>
  submitJob(
    () => service.value.call('refreshStore', { params: { store_id: id }, body: { full: isFull, load: true } }),
    onRefusal,
  );

const deleteStore = (id: string) =>
  tryAction(async () => {
    await service.value.call('deleteStore', { params: { store_id: id } });
    showToast('good', `The store ${id} was deleted.`);
    notifyChange();
    navigate('/console/data');
  });

const TABS: readonly Tab[] = STORE_PARTS;

export function StorePage({ params }: PageProps) {
  const id = params['id']!; // the address contains the id
  const store = useAnswer('getStore', { params: { store_id: id } });
  const { data, trouble, reload } = store;
  if (data === undefined && trouble !== null)
    return (
      <Page title={id} above={[{ address: '/console/data', text: 'Data' }]}>
        <Problem trouble={trouble} onRetry={reload} />
      </Page>
    );
  return (
    <Answered resource={store} what={`the store ${id}`}>
      {(one) => <StoreContent store={one} />}
    </Answered>
  );
}

function StoreContent({ store }: { readonly store: DataStore }) {
  const { store_id: id, name, active: isServed, error } = store;
  const job = runningStoreJob(id);
  const tab = findOpenTab(TABS);
  return (
    <Page
      title={name}
      above={[{ address: '/console/data', text: 'Data' }]}
      subtitle={
        <>
          <code>{id}</code>
          <Badge>{store.kind}</Badge>
          {isServed && <Badge kind="good">served</Badge>}
        </>
      }
      actions={may('data') && job === undefined && <Actions store={store} />}
    >
      {job !== undefined && <JobState job={job} />}
      {error !== null && (
        <Banner kind="bad" title={error.message}>
          <code>{error.code}</code>
        </Banner>
      )}
      <Tabs label={`Parts of ${name}`} tabs={TABS} />
      <Part store={store} tab={tab} />
    </Page>
  );
}

function Part({ store, tab }: { readonly store: DataStore; readonly tab: string }) {
  switch (tab) {
    case 'doubts':
      return <DataWarnings store={store} />;
    case 'coverage':
      return <Coverage store={store} />;
    case 'names':
      return store.active ? <NameTable /> : <NameTable store={store.store_id} />;
    case 'overrides':
      return <Overrides store={store} />;
    case 'versions':
      return <DataVersions store={store} />;
    default:
      return <StoreOverview store={store} />;
  }
}

/** Maximum number of indices that are named before a store is deleted. */
const NAMED_MAX = 10;

/** Renders the indices that are computed on a store, and the strategies that follow them. They cannot run without it. */
function AssignedIndices({ store }: { readonly store: string }) {
  const indices = useList('indices');
  const strategies = useList('strategies');
  const ids = (indices.data?.indices ?? []).filter(({ store_id: of }) => of === store).map(({ id }) => id);
  const strategyIds = (strategies.data?.strategies ?? [])
    .filter(({ strategy }) => ids.includes(strategy.index_id))
    .map(({ strategy }) => strategy.id);
  if (ids.length === 0) return null;
  const counts = [
    countValues(ids.length, 'index', 'indices'),
    ...(strategyIds.length === 0 ? [] : [countValues(strategyIds.length, 'strategy', 'strategies')]),
  ];
  return (
    <p>
      {counts.join(' and ')} cannot run without it: {formatFirstNames([...ids, ...strategyIds], NAMED_MAX)}.
    </p>
  );
}

function Actions({ store }: { readonly store: DataStore }) {
  const { store_id: id, active: isServed, refreshable, managed, name } = store;
  const [isAsking, setAsking] = useState(false);
  const users = useStoreUsers()(store);
  return (
    <>
      {!isServed && (
        <Button kind={users === 0 ? 'danger' : 'plain'} onClick={() => setAsking(true)}>
          Delete
        </Button>
      )}
      {refreshable && (
        <>
          <ActionButton
            act={(onRefusal) => refreshStore(id, true, onRefusal)}
            title="Reads all values of the source again, adds later dates and reports restated values"
          >
            Refresh all values
          </ActionButton>
          <ActionButton
            kind={isServed ? 'main' : 'plain'}
            act={(onRefusal) => refreshStore(id, false, onRefusal)}
            title="Adds dates after the last session. Stored values change only for a new split."
          >
            Add later dates
          </ActionButton>
        </>
      )}
      {!isServed && (
        <ActionButton kind="main" act={(onRefusal) => activateStore(id, onRefusal)}>
          Serve
        </ActionButton>
      )}
      {isAsking && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          onConfirm={() => void deleteStore(id)}
          onClose={() => setAsking(false)}
        >
          <p>
            {managed
              ? 'This also deletes its files. Stored runs keep only the hash of their data.'
              : 'This removes the store from the service. The data stays in its place.'}
          </p>
          <AssignedIndices store={id} />
        </Confirm>
      )}
    </>
  );
}
