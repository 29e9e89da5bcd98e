import '../index/publication/publication.css';
import { useEffect, useState } from 'preact/hooks';
import type {
  AuditLog,
  Client,
  Judgements,
  ListedClient,
  Procedure,
  PublishedErrors,
} from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Answered, Badge } from '../../components/feedback.js';
import { Bars } from '../../components/layout/bars.js';
import { Entries, type Entry as FactsEntry, Facts } from '../../components/layout/facts.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { collectRows, createRegisterPage, type DayRange, type Register } from '../../components/register.js';
import { type Column, readCell } from '../../components/table/model.js';
import { tryAction } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { formatAddress } from '../../state/location.js';
import { type AuditVerdict, canVerify, verifyAuditLog } from '../../state/log-verification.js';
import { may, service, useAnswer, useResource } from '../../state/service.js';
import {
  formatApprovalAddress,
  formatClosuresAddress,
  formatGovernanceAddress,
  formatIndexAddress,
  formatPluginAddress,
  formatRiskModelAddress,
  formatScheduleAddress,
  formatStrategyAddress,
  formatTemplateAddress,
  formatWatchlistAddress,
  storeAddress,
} from '../../words/addresses.js';
import { createMomentFigure, formatMoment } from '../../words/dates.js';
import { countValues, formatCount, formatDecimal, MISSING_TEXT } from '../../words/numbers.js';
import { formatLevelChange } from '../../words/publication.js';
import { Deliveries, formatCheck } from '../schedules/steps.js';
import {
  getClientState,
  isIncomplete,
  KIND_TEXTS,
  WORK_KINDS,
  listMissingKinds,
  listUncoveredIndices,
} from './open-work.js';
import { isPublished, PublishedLogs, useGovernance } from './published-logs.js';

/** Members that all registers share. */
const GOVERNANCE = { above: [{ address: '/console/governance', text: 'Governance' }] };

interface BriefProps {
  readonly guide: string;
  readonly children: string;
}

/** Renders the contents of a register in a sentence. */
const Brief = ({ guide, children }: BriefProps) => (
  <p>
    {children} <GuideLink page={guide}>More</GuideLink>
  </p>
);

/**
 * Renders the last hash and the signature of the listed part of the log. Also shows if the browser could verify them.
 */
function AuditChain({ log }: { readonly log: AuditLog }) {
  const [verdict, setVerdict] = useState<AuditVerdict | null>(null);
  useEffect(() => {
    if (!canVerify()) return undefined;
    let isShown = true;
    void verifyAuditLog(log).then((found) => isShown && setVerdict(found));
    return () => {
      isShown = false;
    };
  }, [log]);
  const last = log.entries.at(-1);
  if (last === undefined) return null;
  const seal = verdict?.seal ?? log.seals.findLast(({ seq }) => seq <= last.seq);
  return (
    <Facts
      facts={[
        ['Chain', <State verdict={verdict} />],
        ['Last hash', <code style={{ overflowWrap: 'anywhere' }}>{last.hash}</code>],
        [
          'Signed',
          seal && (
            <>
              entry {formatCount(seal.seq)} at {formatMoment(seal.at)} by the key <code>{seal.key_id}</code>
            </>
          ),
        ],
      ]}
    />
  );
}

function State({ verdict }: { readonly verdict: AuditVerdict | null }) {
  if (verdict === null)
    return <>{canVerify() ? 'being verified' : 'a browser can verify only over HTTPS or on this machine'}</>;
  const { sound, seal, isSigned, fault } = verdict;
  if (fault !== null)
    return (
      <>
        <Badge kind="bad">broken</Badge> {fault}
      </>
    );
  const signedText = isSigned
    ? ' and the latest signature'
    : seal === null
      ? '; none of them is the end of a signed part'
      : '';
  return (
    <>
      <Badge kind="good">verified</Badge> the hashes of {countValues(sound, 'entry', 'entries')}
      {signedText}
    </>
  );
}

/** Returns the address of a document of the audit log. Returns null if the document has no page. */
function formatDocumentAddress(kind: string, id: string): string | null {
  const [owner = '', entry = ''] = id.split('/');
  switch (kind) {
    case 'index':
    case 'run':
      return formatIndexAddress(id);
    case 'publication':
      return formatAddress(formatIndexAddress(owner), { tab: 'publication' });
    case 'publication-error':
      return formatAddress(formatGovernanceAddress('errors'), { entry: `${owner} ${Number(entry)}` });
    case 'strategy':
      return formatStrategyAddress(id);
    case 'plugin':
      return formatPluginAddress(id);
    case 'template':
      return formatTemplateAddress(id);
    case 'render':
      return formatAddress('/console/reports', { render: id });
    case 'risk-model':
      return formatRiskModelAddress(id);
    case 'optimisation-run':
      return `/console/optimise/runs/${encodeURIComponent(id)}`;
    case 'store':
      return storeAddress(id);
    case 'data-version':
      return formatAddress(storeAddress(id), { tab: 'versions' });
    case 'watchlist':
      return formatWatchlistAddress(id);
    case 'closures':
      return formatClosuresAddress(id);
    case 'client':
    case 'procedure':
      return formatGovernanceAddress(`${kind}s`, id);
    case 'schedule':
      return formatScheduleAddress(id);
    case 'judgement':
      return formatAddress(formatGovernanceAddress('judgements'), { entry: `${owner} ${Number(entry)}` });
    case 'action-decision':
      return formatAddress('/console/actions', { action: id });
    case 'approval':
      return formatApprovalAddress(Number(entry));
    default:
      return null;
  }
}

/** Audit entry with the part of the log that contains it. */
type AuditEntry = AuditLog['entries'][number] & {
  readonly log: AuditLog;
  /** Change that the request of an approval asks for; null for other entries. */
  readonly requested: string | null;
  /** True if the document was deleted by this or a later entry of the range. */
  readonly isDeleted: boolean;
};

/** Maximum number of entries that the page lists. The exported file contains the full range. */
const LISTED_MAX = 5000;
const LOG_MEDIA = 'application/x-ndjson';

/** Creates the query for a range of whole days. */
const createQuery = ({ from, to }: DayRange) => ({ start: from, end: `${to}T23:59:59.999Z` });

async function saveExtract(range: DayRange): Promise<void> {
  const bytes = await service.value.download('getAudit', LOG_MEDIA, { query: createQuery(range) });
  saveFile(`audit-${range.from}-${range.to}.ndjson`, bytes);
}

/** Formats a kind with spaces, for example `data version` for `data-version`. */
const formatKind = (kind: string): string => kind.replaceAll('-', ' ');

/** Formats an id without leading zeros, for example `EVEN, entry 3` for the third entry of a log, or `5` for an approval. */
const formatId = (kind: string, id: string): string =>
  id.replace(/^(.*)\/0*(\d+)$/, (_, of: string, number: string) => (of === kind ? number : `${of}, entry ${number}`));

/** Reads the changes that the approvals of a log ask for. */
async function readRequests({ entries }: AuditLog, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const entryByNumber = new Map(
    entries.flatMap(({ kind, id }) => (kind === 'approval' ? [[Number(id.split('/').at(-1)), id] as const] : [])),
  );
  if (entryByNumber.size === 0) return new Map();
  const { approvals } = await service.value.call('listApprovals', { query: { limit: REQUESTS_MAX }, signal });
  return new Map(approvals.map(({ approval_id: id, summary }) => [`approval ${entryByNumber.get(id)}`, summary]));
}

/** Maximum number of approvals in a response. */
const REQUESTS_MAX = 500;

async function readAuditEntries(range: DayRange, signal: AbortSignal): Promise<readonly AuditEntry[]> {
  const log = await service.value.call('getAudit', { query: { ...createQuery(range), limit: LISTED_MAX }, signal });
  const requests = await readRequests(log, signal);
  const lastActions = new Map(log.entries.map(({ kind, id, action }) => [`${kind} ${id}`, action])); // oldest first
  return log.entries.map((entry) => {
    const key = `${entry.kind} ${entry.id}`;
    return {
      ...entry,
      log,
      requested: requests.get(key) ?? null,
      isDeleted: lastActions.get(key) === 'deleted',
    };
  });
}

const auditRegister: Register<AuditEntry> = {
  ...GOVERNANCE,
  title: 'Audit log',
  name: 'audit',
  subtitle: () => <Brief guide="governance">Each write and each publication, in a signed chain of hashes.</Brief>,
  label: 'audit log',
  empty: { title: 'No entry in this range', text: 'Choose other dates.' },
  sort: { column: 'seq', direction: 'desc' },
  hasRange: true,
  scope: 'audit',
  // A log is not reloaded automatically, because the service records every time that it is read.
  useRows: (range) =>
    useResource(`register audit ${range.from} ${range.to}`, (signal) => readAuditEntries(range, signal), {
      follows: false,
    }),
  renderAbove: ([first]) => first && <AuditChain log={first.log} />,
  getKey: ({ seq }) => String(seq),
  searchIn: ({ author, action, kind, id, note, requested }) =>
    `${author} ${action} ${kind} ${formatKind(kind)} ${formatId(kind, id)} ${requested ?? ''} ${note ?? ''}`,
  groupLabel: 'Document',
  formatGroup: ({ kind }) => formatKind(kind),
  summarise(rows) {
    const last = rows
      .map(({ at }) => at)
      .toSorted()
      .at(-1);
    const endFigure = last === undefined ? { value: MISSING_TEXT } : createMomentFigure(last);
    return [
      {
        term: 'Entries',
        value: formatCount(rows.length),
        note: rows.length < LISTED_MAX ? 'in the range' : 'the first of the range',
      },
      { term: 'Authors', value: formatCount(new Set(rows.map(({ author }) => author)).size) },
      { term: 'Documents', value: formatCount(new Set(rows.map(({ kind, id }) => `${kind} ${id}`)).size) },
      { term: 'Latest entry', ...endFigure },
    ];
  },
  actions: (_, range) => <Button onClick={() => void tryAction(() => saveExtract(range))}>Download the extract</Button>,
  columns: [
    { id: 'seq', title: 'No.', width: 58, priority: 0, write: formatCount },
    { id: 'at', title: 'Time', width: 180, show: ({ at }) => formatMoment(at, true) },
    { id: 'author', title: 'Author', width: 68, ideal: 80, priority: 5 },
    { id: 'action', title: 'Action', width: 76, ideal: 84, priority: 2 },
    { id: 'kind', title: 'Document', width: 100, ideal: 116, value: ({ kind }) => formatKind(kind) },
    {
      id: 'id',
      title: 'Id',
      width: 190,
      below: 'titled',
      value: ({ kind, id }) => formatId(kind, id),
      show: (entry) => <DocumentLink {...entry} />,
      showBelow: ({ kind, id }) => formatId(kind, id),
    },
    { id: 'version', title: 'Version', width: 76, align: 'right', priority: 6 },
    {
      id: 'note',
      title: 'Note',
      width: 120,
      ideal: 300,
      grow: 60,
      priority: 3,
      value: ({ note, requested }) => requested ?? note ?? '',
    },
  ],
  listFacts: ({
    requested,
    at,
    author,
    key_id: key,
    action,
    kind,
    id,
    version,
    request_id: request,
    etag,
    hash,
    run_id: run,
  }) => [
    ['Time', formatMoment(at, true)],
    ['Author', author],
    ['Key', key ?? MISSING_TEXT],
    ['Action', action],
    ['Document', `${formatKind(kind)} ${formatId(kind, id)}`],
    ['Requested change', requested],
    ['Key of the document', `${kind} ${id}`],
    ['Version', version],
    ['Run', run ?? null],
    ['Request', request === '' ? MISSING_TEXT : request],
    ['Content', etag],
    ['Hash', hash],
  ],
  listTexts: ({ note }) => [['Note', note]],
};

/** Renders the id of a document as a link to its page. A deleted document has no page. */
function DocumentLink({ kind, id, isDeleted }: Pick<AuditEntry, 'kind' | 'id' | 'isDeleted'>) {
  const address = isDeleted ? null : formatDocumentAddress(kind, id);
  return address === null ? <>{formatId(kind, id)}</> : <a href={address}>{formatId(kind, id)}</a>;
}

/** Columns with the time of a decision; narrow tables show only the day. */
const DECISION_COLUMNS: readonly Column<{ readonly at: string }>[] = [
  {
    id: 'at',
    title: 'Decided',
    width: 94,
    show: ({ at }) => <span title={formatMoment(at)}>{createMomentFigure(at).value}</span>,
  },
  {
    id: 'time',
    title: 'Time',
    width: 84,
    priority: 5,
    below: 'nothing',
    value: ({ at }) => at,
    show: ({ at }) => createMomentFigure(at).note,
  },
];

/** Renders the number of decisions about each schedule, unless all numbers are equal. */
function BySchedule({ rows }: { readonly rows: Judgements['judgements'] }) {
  const counts = new Map<string, number>();
  for (const { schedule_id: id } of rows) counts.set(id, (counts.get(id) ?? 0) + 1);
  if (new Set(counts.values()).size < 2) return null;
  const bars = [...counts].map(([id, value]) => ({ label: id, value, address: formatScheduleAddress(id) }));
  return (
    <Section title="Decisions by schedule">
      <Bars
        label="Decisions by schedule"
        bars={bars.toSorted((a, b) => b.value - a.value)}
        isPlain
        format={formatCount}
      />
    </Section>
  );
}

interface ProcedureKindsProps {
  readonly procedures: readonly Procedure[];
}

/** Renders each kind of procedure with the published indices to which a procedure of this kind applies. */
function ProcedureKinds({ procedures }: ProcedureKindsProps) {
  const overview = useGovernance();
  const published = (overview.data?.statements ?? []).filter(isPublished).map(({ index_id: id }) => id);
  return (
    <Section title="Kinds of procedures" aside="of the principles for financial benchmarks">
      <Entries
        label="Kinds of procedures"
        entries={WORK_KINDS.map((kind) => createKindEntry(kind, procedures, published))}
      />
    </Section>
  );
}

function createKindEntry(
  kind: Procedure['kind'],
  procedures: readonly Procedure[],
  published: readonly string[],
): FactsEntry {
  const ownProcedures = procedures.filter((one) => one.kind === kind);
  const entry = { key: kind, title: `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`, text: KIND_TEXTS[kind] };
  const [first] = ownProcedures;
  if (first === undefined)
    return {
      ...entry,
      aside: may('write') && <a href={formatAddress(formatGovernanceAddress('procedures', 'new'), { kind })}>Write</a>,
      badge: <Badge kind="warning">missing</Badge>,
    };
  if (published.length === 0)
    return { ...entry, badge: <Badge>{countValues(ownProcedures.length, 'procedure')}</Badge> };
  const uncovered = listUncoveredIndices(kind, procedures, published);
  const coverage = `${formatCount(published.length - uncovered.length)} of ${countValues(published.length, 'published index', 'published indices')}`;
  if (uncovered.length === 0) return { ...entry, badge: <Badge kind="good">{coverage}</Badge> };
  return {
    ...entry,
    aside: may('write') && <a href={formatGovernanceAddress('procedures', first.procedure_id)}>Extend</a>,
    badge: <Badge kind="warning">{coverage}</Badge>,
    text: `${KIND_TEXTS[kind]} Missing for ${formatIds(uncovered)}.`,
  };
}

/** Maximum number of indices that an entry names, so that it stays a few lines long. */
const NAMED_MAX = 5;

/** Lists ids, for example `A, B and 3 others`. */
function formatIds(ids: readonly string[]): string {
  const rest = ids.length - NAMED_MAX;
  return rest > 0
    ? `${ids.slice(0, NAMED_MAX).join(', ')} and ${countValues(rest, 'other')}`
    : new Intl.ListFormat('en-GB').format(ids);
}

type SentFile = NonNullable<ListedClient['latest_delivery']>;

/** Renders the files of the latest session with files for a client. */
function SentFiles({ clients }: { readonly clients: readonly ListedClient[] }) {
  const [latest] = clients
    .flatMap(({ latest_delivery: sent }) => sent ?? [])
    .toSorted((a, b) => (a.date < b.date ? 1 : -1));
  return latest === undefined ? null : <Files latest={latest} />;
}

function Files({ latest: { schedule_id: schedule, date } }: { readonly latest: SentFile }) {
  const params = { schedule_id: schedule, date };
  const dayDeliveries = useAnswer('listDayDeliveries', { params });
  return (
    <Section
      title={`Files of ${date}`}
      aside={<a href={formatAddress(formatScheduleAddress(schedule), { day: date })}>Day of {schedule}</a>}
    >
      <Answered resource={dayDeliveries} what="the files">
        {({ deliveries }) => <Deliveries records={deliveries} empty="No client has received a file." isBrief />}
      </Answered>
    </Section>
  );
}

const add = (part: string, text: string) => (
  <LinkButton kind="main" href={formatGovernanceAddress(part, 'new')}>
    <Icon name="plus" /> {text}
  </LinkButton>
);

/** Indices to which a document applies: the listed indices, or all. */
const formatIndices = (indices: readonly string[] | null): string => indices?.join(', ') ?? 'every index';

const formatEntitled = ({ entitlements }: Pick<Client, 'entitlements'>): string =>
  entitlements.length === 0 ? 'nothing' : entitlements.map(({ indices }) => formatIndices(indices)).join(', ');

const clientsRegister: Register<ListedClient> = {
  ...GOVERNANCE,
  title: 'Clients',
  name: 'clients',
  subtitle: () => <Brief guide="clients">Receivers of files, with their entitlements and targets.</Brief>,
  label: 'clients',
  empty: { title: 'No client yet', text: 'Files of a schedule are delivered to clients that are entitled to them.' },
  sort: { column: 'id', direction: 'asc' },
  useRows: () =>
    useResource('register clients', async (signal) => (await service.value.call('listClients', { signal })).clients),
  getKey: ({ client_id: id }) => id,
  formatAddress: ({ client_id: id }) => formatGovernanceAddress('clients', id),
  searchIn: ({ client_id: id, name, targets }) => `${id} ${name} ${targets.map((target) => target.name).join(' ')}`,
  actions: () => may('publish') && add('clients', 'New client'),
  summarise(rows) {
    const deliveries = rows.flatMap(({ latest_delivery: latest }) => latest ?? []);
    const newest = deliveries
      .map(({ date }) => date)
      .toSorted()
      .at(-1);
    const today = deliveries.filter(({ date }) => date === newest);
    const sum = (readCount: (row: (typeof deliveries)[number]) => number) =>
      today.reduce((all, row) => all + readCount(row), 0);
    const openCount = sum(({ files, delivered }) => files - delivered);
    const ready = rows.filter((row) => getClientState(row).kind === 'good').length;
    const incomplete = rows.filter(isIncomplete).length;
    return [
      { term: 'Clients', value: formatCount(rows.length), note: `${formatCount(ready)} can receive files` },
      {
        term: 'Incomplete',
        value: formatCount(incomplete),
        kind: incomplete > 0 ? 'warning' : '',
        note: 'no target or entitlement',
      },
      {
        term: 'Latest session',
        value: newest ?? 'none yet',
        note: newest === undefined ? '' : `${countValues(today.length, 'client')} with files`,
      },
      { term: 'Delivered files', value: formatCount(sum(({ delivered }) => delivered)), note: 'of the latest session' },
      {
        term: 'Open files',
        value: formatCount(openCount),
        kind: openCount > 0 ? 'down' : '',
        note: 'not delivered yet',
      },
    ];
  },
  listColumns: listClientColumns,
  renderBelow: (rows) => (
    <>
      <Incomplete clients={rows} />
      <SentFiles clients={rows} />
    </>
  ),
  columns: [
    {
      id: 'id',
      title: 'Client',
      width: 78,
      ideal: 170,
      grow: 3,
      value: ({ client_id: id, name }) => `${id} ${name}`,
      show: ({ client_id: id, name }) => (
        <span title={name}>
          <strong>{id}</strong> <span class="quiet client-name">{name}</span>
        </span>
      ),
    },
    {
      id: 'enabled',
      title: 'Delivery',
      width: 98,
      value: (row) => getClientState(row).text,
      show: (row) => <Badge kind={getClientState(row).kind}>{getClientState(row).text}</Badge>,
    },
    {
      id: 'latest',
      title: 'Latest delivery',
      help: 'Latest session of which the client has files, with their state',
      width: 168,
      value: ({ latest_delivery: latest }) => latest?.date ?? '',
      show: ({ latest_delivery: latest }) => <Latest latest={latest} />,
    },
    {
      id: 'indices',
      title: 'Entitled to',
      width: 110,
      grow: 4,
      priority: 3,
      value: formatEntitled,
      show: (row) => <span title={formatEntitled(row)}>{formatEntitled(row)}</span>,
    },
    {
      id: 'targets',
      title: 'Targets',
      width: 116,
      grow: 2,
      priority: 4,
      below: 'titled',
      value: ({ targets }) => targets.map(({ name, type }) => `${name} (${type})`).join(', ') || null,
    },
  ],
};

/** Returns the columns of clients. The targets are left out if no client has one. */
function listClientColumns(clients: readonly ListedClient[]): readonly Column<ListedClient>[] {
  const hasTargets = clients.some(({ targets }) => targets.length > 0);
  return (clientsRegister.columns ?? []).filter(({ id }) => id !== 'targets' || hasTargets);
}

/** Renders the clients that cannot receive files, and what each of them lacks. */
function Incomplete({ clients }: { readonly clients: readonly ListedClient[] }) {
  const missing = clients.filter(isIncomplete);
  if (missing.length === 0) return null;
  return (
    <Section title="To complete" aside="a client needs an entitlement and a target to receive files">
      <Entries
        label="Incomplete clients"
        entries={missing.map((row) => ({
          key: row.client_id,
          title: <a href={formatGovernanceAddress('clients', row.client_id)}>{row.name}</a>,
          text:
            row.entitlements.length === 0
              ? 'Add an entitlement: the indices and tables that the client may receive.'
              : `Entitled to ${formatEntitled(row)}. Add a target: the folder, bucket or server that receives the files.`,
          aside: may('publish') && (
            <LinkButton href={formatGovernanceAddress('clients', row.client_id)}>
              {row.entitlements.length === 0 ? 'Add an entitlement' : 'Add a target'}
            </LinkButton>
          ),
        }))}
      />
    </Section>
  );
}

/** Renders the latest session with files for a client. Shows if all files were delivered. */
function Latest({ latest }: { readonly latest: ListedClient['latest_delivery'] }) {
  if (latest === null) return <span class="quiet">none yet</span>;
  const { date, files, delivered } = latest;
  return (
    <>
      {date}{' '}
      {delivered === files ? (
        <Badge kind="good">{countValues(files, 'file')}</Badge>
      ) : (
        <Badge kind="bad" title={`${countValues(files - delivered, 'file')} not delivered`}>
          {formatCount(files - delivered)} open
        </Badge>
      )}
    </>
  );
}

const proceduresRegister: Register<Procedure> = {
  ...GOVERNANCE,
  title: 'Procedures',
  name: 'procedures',
  subtitle: () => <Brief guide="governance">Documents of the administrator, such as cessation or complaints.</Brief>,
  label: 'procedures',
  empty: { title: 'No procedure yet', text: 'The procedures of an index are part of its benchmark statement.' },
  sort: { column: 'id', direction: 'asc' },
  useRows: () =>
    useResource(
      'register procedures',
      async (signal) => (await service.value.call('listProcedures', { signal })).procedures,
    ),
  getKey: ({ procedure_id: id }) => id,
  formatAddress: ({ procedure_id: id }) => formatGovernanceAddress('procedures', id),
  searchIn: ({ procedure_id: id, name, kind }) => `${id} ${name} ${kind}`,
  actions: () => may('write') && add('procedures', 'New procedure'),
  summarise(rows) {
    const dueDates = rows.flatMap(({ review_by: date }) => date ?? []).toSorted();
    return [
      { term: 'Procedures', value: formatCount(rows.length) },
      {
        term: 'Kinds without a procedure',
        value: formatCount(listMissingKinds(rows).length),
        kind: listMissingKinds(rows).length > 0 ? 'warning' : '',
        note: `of ${formatCount(WORK_KINDS.length)} kinds`,
      },
      {
        term: 'For every index',
        value: formatCount(rows.filter(({ indices }) => indices === null).length),
        note: 'the others name their indices',
      },
      {
        term: 'Next review by',
        value: dueDates[0] ?? MISSING_TEXT,
        note: dueDates.length === 0 ? 'no date is set' : '',
      },
    ];
  },
  renderBelow: (rows) => (
    <div class="pile gap-5 procedure-parts">
      <ProcedureKinds procedures={rows} />
      <Texts procedures={rows} />
    </div>
  ),
  columns: [
    { id: 'id', title: 'Id', width: 110, grow: 1, value: ({ procedure_id: id }) => id },
    { id: 'name', title: 'Name', width: 160, grow: 2, priority: 2 },
    { id: 'kind', title: 'Kind', width: 110 },
    {
      id: 'indices',
      title: 'Applies to',
      width: 140,
      grow: 2,
      priority: 3,
      value: ({ indices }) => formatIndices(indices),
    },
    {
      id: 'review',
      title: 'Review by',
      width: 104,
      priority: 4,
      value: (row) => row.review_by ?? '',
      show: (row) => row.review_by ?? <span class="quiet">not set</span>,
    },
    { id: 'version', title: 'Version', width: 76, priority: 6, write: formatCount },
  ],
};

/** Renders the first lines of each procedure. */
const Texts = ({ procedures: all }: { readonly procedures: readonly Procedure[] }) =>
  all.length === 0 ? null : (
    <Section title="Texts" aside="the first lines of each">
      <Entries
        label="Texts of the procedures"
        entries={all.map(({ procedure_id: id, name, kind, text }) => ({
          key: id,
          title: <a href={formatGovernanceAddress('procedures', id)}>{name}</a>,
          badge: <Badge kind="plain">{kind}</Badge>,
          text: <p class="procedure-text">{withoutMarks(text)}</p>,
        }))}
      />
    </Section>
  );

/** Removes the marks of headings, emphasis and code from a Markdown text. */
const withoutMarks = (text: string): string => text.replaceAll(/^#+ |\*\*|__|`/gm, '');

type PublishedError = PublishedErrors['errors'][number];

export const ERROR_KINDS = { restated: 'warning', announced: 'info', left: 'plain' } as const;

async function readErrors(signal: AbortSignal): Promise<readonly PublishedError[]> {
  const { statements } = await service.value.call('getGovernance', { signal });
  const wrong = statements.filter(({ errors: entries }) => entries > 0);
  return collectRows(wrong, async ({ index_id: id }) => {
    const params = { index_id: id };
    return (await service.value.call('listPublishedErrors', { params, query: { limit: 1000 }, signal })).errors;
  });
}

const errorsRegister: Register<PublishedError> = {
  ...GOVERNANCE,
  title: 'Register of errors',
  name: 'errors',
  subtitle: () => <Brief guide="governance">Restatements, and differences that were announced or left.</Brief>,
  noun: 'Error',
  label: 'errors in published closes',
  empty: { title: 'No error', text: 'No published close differs from a later run.' },
  sort: { column: 'at', direction: 'desc' },
  useRows: () => useResource('register errors', readErrors),
  getKey: ({ index_id: index, seq }) => `${index} ${seq}`,
  formatName: ({ index_id: index, seq }) => `${formatCount(seq)} of ${index}`,
  searchIn: ({ index_id: index, decision, reason }) => `${index} ${decision} ${reason}`,
  groupLabel: 'Decision',
  formatGroup: ({ decision }) => decision,
  summarise(rows) {
    const filterRows = (wanted: PublishedError['decision']) => rows.filter(({ decision }) => decision === wanted);
    const sizes = rows.map(({ largest }) => Math.abs(largest?.change_bps ?? 0));
    const restatedCount = rows.reduce((sum, { restated }) => sum + restated, 0);
    return [
      {
        term: 'Errors',
        value: formatCount(rows.length),
        note:
          rows.length === 0
            ? 'in published closes'
            : `of ${countValues(new Set(rows.map((row) => row.index_id)).size, 'index', 'indices')}`,
      },
      {
        term: 'Restated',
        value: formatCount(filterRows('restated').length),
        note: `${countValues(restatedCount, 'close')} published again`,
      },
      { term: 'Announced', value: formatCount(filterRows('announced').length), note: 'material, closes stand' },
      { term: 'Left unchanged', value: formatCount(filterRows('left').length), note: 'immaterial, closes stand' },
      { term: 'Largest change', value: rows.length === 0 ? 'none' : formatLevelChange(Math.max(...sizes)) },
    ];
  },
  isNewestShown: true,
  renderBelow: () => <PublishedLogs />,
  columns: [
    ...DECISION_COLUMNS,
    { id: 'index', title: 'Index', width: 136, ideal: 144, grow: 1, value: (row) => row.index_id },
    {
      id: 'decision',
      title: 'Decision',
      width: 96,
      show: ({ decision }) => <Badge kind={ERROR_KINDS[decision]}>{decision}</Badge>,
    },
    { id: 'first', title: 'From', width: 104, priority: 2 },
    { id: 'last', title: 'To', width: 104, priority: 6 },
    { id: 'dates', title: 'Dates', width: 72, priority: 4, write: formatCount },
    {
      id: 'size',
      title: 'Largest change',
      width: 116,
      value: ({ largest }) => largest?.change_bps ?? null,
      write: formatLevelChange,
    },
    {
      id: 'reason',
      title: 'Reason',
      width: 200,
      ideal: 430,
      grow: 8,
      priority: 3,
      show: ({ reason }) => <span title={reason}>{withoutSize(reason)}</span>,
    },
    { id: 'author', title: 'Author', width: 80, priority: 7 },
  ],
  listFacts: ({
    index_id: index,
    decision,
    policy,
    first,
    last,
    dates,
    restated,
    largest,
    author,
    at,
    run_id: run,
  }) => [
    ['Index', <a href={formatAddress(formatIndexAddress(index), { tab: 'publication' })}>{index}</a>],
    ['Decision', <Badge kind={ERROR_KINDS[decision]}>{decision}</Badge>],
    ['Decided', `${formatMoment(at)} by ${author}`],
    ['Dates', `${countValues(dates, 'close')}, ${first === last ? first : `${first} to ${last}`}`],
    ['Closes published again', formatCount(restated)],
    ['Largest change', largest && `${formatLevelChange(largest.change_bps)} on ${largest.date}`],
    [
      'Level',
      largest && `${largest.variant} ${formatDecimal(largest.published, 4)} → ${formatDecimal(largest.run, 4)}`,
    ],
    [
      'Policy',
      policy === null
        ? 'decided by a person'
        : `material from ${formatDecimal(policy.materiality_bps)} bp, window of ${formatCount(policy.correction_window)} sessions`,
    ],
    ['Run', run],
  ],
  listTexts: ({ reason, notice }) => [
    ['Reason', reason],
    ['Notice for clients', notice],
  ],
};

/** Removes the start of a reason that states the largest difference, because the table has a column for it. */
function withoutSize(reason: string): string {
  const restText = reason.replace(/^The largest difference is [\d.,]+ bp, /, '');
  return restText.charAt(0).toUpperCase() + restText.slice(1);
}

type Judgement = Judgements['judgements'][number];

export const DECISION_WORDS: Readonly<Record<Judgement['action'], string>> = {
  run: 'performed by hand',
  backfill: 'backfilled',
  skip: 'skipped',
  waive: 'accepted findings',
};

async function readJudgements(signal: AbortSignal): Promise<readonly Judgement[]> {
  const { schedules } = await service.value.call('listSchedules', { signal });
  return collectRows(schedules, async ({ schedule_id: id }) => {
    const params = { schedule_id: id };
    return (await service.value.call('listJudgements', { params, query: { limit: 1000 }, signal })).judgements;
  });
}

const judgementsRegister: Register<Judgement> = {
  ...GOVERNANCE,
  title: 'Expert judgements',
  name: 'judgements',
  subtitle: () => <Brief guide="governance">Decisions of people about days of schedules, with their reasons.</Brief>,
  noun: 'Judgement',
  label: 'judgements',
  empty: {
    title: 'No judgement yet',
    text: 'Accepted findings and skipped days are recorded here, with their reasons.',
  },
  sort: { column: 'at', direction: 'desc' },
  useRows: () => useResource('register judgements', readJudgements),
  getKey: ({ schedule_id: schedule, seq }) => `${schedule} ${seq}`,
  formatName: ({ schedule_id: schedule, seq }) => `${formatCount(seq)} of the schedule ${schedule}`,
  searchIn: ({ schedule_id: schedule, date, author, check, index_id: index, identifier, reason }) =>
    `${schedule} ${date} ${author} ${check ?? ''} ${index ?? ''} ${identifier ?? ''} ${reason ?? ''}`,
  groupLabel: 'Decision',
  formatGroup: ({ action }) => DECISION_WORDS[action],
  summarise(rows) {
    const filterRows = (...wanted: Judgement['action'][]) => rows.filter(({ action }) => wanted.includes(action));
    const byHand = filterRows('run', 'backfill');
    const bare = byHand.filter(({ reason }) => reason === null).length;
    const people = new Set(rows.map(({ author }) => author));
    const findings = filterRows('waive').reduce((sum, row) => sum + row.findings.length, 0);
    return [
      {
        term: 'Decisions',
        value: formatCount(rows.length),
        note: `by ${countValues(people.size, 'person', 'people')}`,
      },
      {
        term: 'Acceptances',
        value: formatCount(filterRows('waive').length),
        note: `of ${countValues(findings, 'finding')}`,
      },
      { term: 'Skipped days', value: formatCount(filterRows('skip').length) },
      {
        term: 'Performed or backfilled',
        value: formatCount(byHand.length),
        note: `${formatCount(bare)} without a reason`,
      },
      { term: 'Approved by others', value: formatCount(rows.filter(({ approval_id: id }) => id !== null).length) },
    ];
  },
  renderBelow: (rows) => <BySchedule rows={rows} />,
  columns: [
    ...DECISION_COLUMNS,
    { id: 'author', title: 'Author', width: 76, priority: 6 },
    { id: 'action', title: 'Decision', width: 118, value: ({ action }) => DECISION_WORDS[action] },
    { id: 'schedule', title: 'Schedule', width: 112, value: (row) => row.schedule_id },
    { id: 'date', title: 'Session', width: 90, below: 'text', show: formatDecidedSessions },
    {
      id: 'index',
      title: 'Indices',
      width: 150,
      ideal: 222,
      grow: 8,
      priority: 2,
      value: (row) => formatDecidedIndices(row),
      show: (row) => <span title={formatDecidedIndices(row)}>{formatDecidedIndices(row, 2)}</span>,
    },
    { id: 'check', title: 'Check', width: 130, priority: 5, value: ({ check }) => check && formatCheck(check) },
    {
      id: 'reason',
      title: 'Reason',
      width: 170,
      grow: 6,
      show: ({ reason }) =>
        reason === null ? <span class="quiet">none given</span> : <span title={reason}>{reason}</span>,
    },
  ],
  listColumns: listJudgementColumns,
  listFacts: ({ at, author, schedule_id: schedule, check, identifier, ...judgement }) => [
    ['Decision', DECISION_WORDS[judgement.action]],
    ['Decided', `${formatMoment(at)} by ${author}`],
    ['Approved', renderApprover(judgement)],
    ['Schedule', schedule],
    [
      judgement.action === 'backfill' ? 'Sessions' : 'Session',
      <a href={formatAddress(formatScheduleAddress(schedule), { day: judgement.date })}>
        {formatDecidedSessions(judgement)}
      </a>,
    ],
    ['Check', check && formatCheck(check)],
    ['Indices', formatDecidedIndices(judgement) || null],
    ['Security', identifier],
  ],
  listTexts: ({ reason, findings }) => [
    ['Reason', reason],
    ...findings.map(({ index_id: index, message }) => [`Finding of ${index}`, message] as const),
  ],
};

/** Returns the columns of decisions. Columns that would be empty for all rows are left out. */
function listJudgementColumns(rows: readonly Judgement[]): readonly Column<Judgement>[] {
  const hasRange = rows.some(({ action }) => action === 'backfill');
  const hasLongReason = rows.some(({ reason }) => (reason ?? '').length > ONE_LINE_REASON);
  return (judgementsRegister.columns ?? [])
    .filter(
      (column) => !OPTIONAL_COLUMNS.includes(column.id) || rows.some((row) => (readCell(column, row) ?? '') !== ''),
    )
    .map((column) => {
      if (column.id === 'reason') return { ...column, lines: hasLongReason ? 2 : 1 };
      return column.id === 'date' && hasRange ? { ...column, width: RANGE_WIDTH, lines: 1 } : column;
    });
}

/** Columns that are left out if no row has a value. */
const OPTIONAL_COLUMNS = ['index', 'check'];

/** Width of the sessions of a backfill. */
const RANGE_WIDTH = 260;

/** Maximum number of characters of a reason on one line. */
const ONE_LINE_REASON = 40;

/** Formats the sessions of a decision, for example `2026-11-02 to 2026-11-24 (17 sessions)`. */
function formatDecidedSessions({
  action,
  date,
  last_date: last,
  sessions,
}: Pick<Judgement, 'action' | 'date' | 'last_date' | 'sessions'>): string {
  if (action !== 'backfill') return date;
  if (last === null) return `from ${date}`;
  const count = sessions === null ? '' : ` (${countValues(sessions, 'session')})`;
  return `${last === date ? date : `${date} to ${last}`}${count}`;
}

/**
 * Formats the indices of a decision: the index of a waiver, otherwise the indices of the schedule.
 * @param max number of indices that are listed; of more, only the first is listed and the others are counted
 */
function formatDecidedIndices(
  { action, index_id: index, indices }: Pick<Judgement, 'action' | 'index_id' | 'indices'>,
  max = Number.POSITIVE_INFINITY,
): string {
  if (index !== null) return index;
  if (indices.length === 0) return action === 'waive' ? 'all' : '';
  return indices.length > max ? `${indices[0]} and ${formatCount(indices.length - 1)} more` : indices.join(', ');
}

/** Renders the approvers with a link to the request, for example `by ben`; null if no approval was needed. */
function renderApprover({ approval_id: id, approved_by: names }: Pick<Judgement, 'approval_id' | 'approved_by'>) {
  return id === null ? null : <a href={formatApprovalAddress(id)}>by {names.join(', ')}</a>;
}

/** All registers by name, in the order of the overview. The names are part of the addresses. */
const createEntry = <R,>(register: Register<R>) => ({ title: register.title, List: createRegisterPage(register) });

export const REGISTERS = {
  clients: createEntry(clientsRegister),
  procedures: createEntry(proceduresRegister),
  errors: createEntry(errorsRegister),
  judgements: createEntry(judgementsRegister),
  audit: createEntry(auditRegister),
} as const;
