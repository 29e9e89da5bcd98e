import type { AuditLog, Client, Judgements, Procedure, PublishedErrors } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button, LinkButton } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { numeric } from '../../components/table/columns.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { addressOf } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { service } from '../../state/service.js';
import { approvalAddress, governanceAddress, indexAddress, scheduleAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { count, decimal, NONE } from '../../words/numbers.js';
import { checkWords } from '../schedules/step-words.js';
import { LatestDelivery } from './latest-delivery.js';
import { collectRows, type Range, type Register } from './register.js';

const add = (part: string, text: string) => (
  <LinkButton kind="main" href={governanceAddress(part, 'new')}>
    <Icon name="plus" /> {text}
  </LinkButton>
);

/** Lists the indices of a document, or `every index` if the document names none. */
const indicesText = (indices: readonly string[] | null): string => indices?.join(', ') ?? 'every index';

const clients: Register<Client> = {
  title: 'Clients',
  help: 'Who receives files: the indices and tables that each is entitled to, and where they are delivered.',
  guide: 'clients',
  brief: 'Receivers of files, with their entitlements and targets.',
  label: 'clients',
  empty: ['No client yet', 'Files of a schedule are delivered to clients that are entitled to them.'],
  sort: { column: 'id', direction: 'asc' },
  read: async (_, signal) => (await service.value.call('listClients', { signal })).clients,
  keyOf: ({ client_id: id }) => id,
  addressOf: ({ client_id: id }) => governanceAddress('clients', id),
  searchIn: ({ client_id: id, name, targets }) => `${id} ${name} ${targets.map((target) => target.name).join(' ')}`,
  actions: () => may('publish') && add('clients', 'New client'),
  columns: [
    { id: 'id', title: 'Id', width: 110, grow: 1, value: ({ client_id: id }) => id },
    { id: 'name', title: 'Name', width: 140, grow: 2, priority: 2, value: ({ name }) => name },
    {
      id: 'enabled',
      title: 'Delivery',
      width: 96,
      value: ({ enabled }) => (enabled ? 'enabled' : 'disabled'),
      show: ({ enabled }) => <Badge kind={enabled ? 'good' : 'plain'}>{enabled ? 'enabled' : 'disabled'}</Badge>,
    },
    {
      id: 'indices',
      title: 'Entitled to',
      width: 160,
      grow: 2,
      priority: 3,
      value: ({ entitlements }) =>
        entitlements.length === 0 ? 'nothing' : entitlements.map(({ indices }) => indicesText(indices)).join(', '),
    },
    {
      id: 'targets',
      title: 'Targets',
      width: 140,
      grow: 2,
      priority: 4,
      value: ({ targets }) => targets.map(({ name, type }) => `${name} (${type})`).join(', ') || 'none',
    },
    {
      id: 'latest',
      title: 'Latest delivery',
      help: 'Latest session of which the client has files, with their state',
      width: 176,
      priority: 3,
      value: () => null,
      show: ({ client_id: id }) => <LatestDelivery client={id} />,
    },
  ],
};

const procedures: Register<Procedure> = {
  title: 'Procedures',
  help: 'Documents of the administrator, such as cessation or complaints. Benchmark statements contain those of their index.',
  guide: 'governance',
  brief: 'Documents of the administrator, such as cessation or complaints.',
  label: 'procedures',
  empty: ['No procedure yet', 'The procedures of an index are part of its benchmark statement.'],
  sort: { column: 'id', direction: 'asc' },
  read: async (_, signal) => (await service.value.call('listProcedures', { signal })).procedures,
  keyOf: ({ procedure_id: id }) => id,
  addressOf: ({ procedure_id: id }) => governanceAddress('procedures', id),
  searchIn: ({ procedure_id: id, name, kind }) => `${id} ${name} ${kind}`,
  actions: () => may('write') && add('procedures', 'New procedure'),
  columns: [
    { id: 'id', title: 'Id', width: 110, grow: 1, value: ({ procedure_id: id }) => id },
    { id: 'name', title: 'Name', width: 160, grow: 2, priority: 2, value: ({ name }) => name },
    { id: 'kind', title: 'Subject', width: 110, value: ({ kind }) => kind },
    {
      id: 'indices',
      title: 'Applies to',
      width: 140,
      grow: 2,
      priority: 3,
      value: ({ indices }) => indicesText(indices),
    },
    { id: 'review', title: 'Review by', width: 104, priority: 4, value: (row) => row.review_by ?? '' },
    numeric({ id: 'version', title: 'Version', width: 76, priority: 6, of: ({ version }) => version, write: count }),
  ],
};

type PublishedError = PublishedErrors['errors'][number];

const DECISION_KINDS = { restated: 'warning', announced: 'info', left: 'plain' } as const;

const errors: Register<PublishedError> = {
  title: 'Register of errors',
  help: 'Differences between published closes and later runs: each restatement, and each difference that an error policy announced or left.',
  guide: 'governance',
  brief: 'Restatements, and differences that were announced or left.',
  noun: 'Error',
  label: 'errors in published closes',
  empty: ['No error', 'No published close differs from a later run.'],
  sort: { column: 'at', direction: 'desc' },
  async read(_, signal) {
    const { indices } = await service.value.call('listIndices', { signal });
    return collectRows(indices, async ({ id }) => {
      const params = { index_id: id };
      return (await service.value.call('listPublishedErrors', { params, query: { limit: 1000 }, signal })).errors;
    });
  },
  keyOf: ({ index_id: index, seq }) => `${index} ${seq}`,
  searchIn: ({ index_id: index, decision, reason }) => `${index} ${decision} ${reason}`,
  columns: [
    { id: 'at', title: 'Decided', width: 166, value: ({ at }) => at, show: ({ at }) => moment(at) },
    { id: 'index', title: 'Index', width: 90, ideal: 110, grow: 1, value: (row) => row.index_id },
    {
      id: 'decision',
      title: 'Decision',
      width: 100,
      value: ({ decision }) => decision,
      show: ({ decision }) => <Badge kind={DECISION_KINDS[decision]}>{decision}</Badge>,
    },
    { id: 'first', title: 'From', width: 104, priority: 2, value: ({ first }) => first },
    { id: 'last', title: 'To', width: 104, priority: 5, value: ({ last }) => last },
    numeric({ id: 'dates', title: 'Dates', width: 72, priority: 4, of: ({ dates }) => dates, write: count }),
    numeric({
      id: 'size',
      title: 'Largest, bps',
      width: 104,
      priority: 2,
      of: ({ largest }) => largest?.change_bps ?? null,
      write: decimal,
    }),
    { id: 'author', title: 'Author', width: 100, priority: 6, value: ({ author }) => author },
  ],
  factsOf: ({ index_id: index, decision, policy, first, last, dates, restated, largest, author, at, run_id: run }) => [
    ['Index', <a href={addressOf(indexAddress(index), { tab: 'publication' })}>{index}</a>],
    ['Decision', <Badge kind={DECISION_KINDS[decision]}>{decision}</Badge>],
    ['Decided', `${moment(at)} by ${author}`],
    ['Dates', `${count(dates)}, ${first} to ${last}`],
    ['Closes published again', count(restated)],
    ['Largest change', largest && `${decimal(largest.change_bps)} bps on ${largest.date}`],
    ['Level', largest && `${largest.variant} ${decimal(largest.published, 4)} → ${decimal(largest.run, 4)}`],
    [
      'Policy',
      policy === null
        ? 'decided by a person'
        : `material from ${decimal(policy.materiality_bps)} bps, window of ${count(policy.correction_window)} sessions`,
    ],
    ['Run', run],
  ],
  textsOf: ({ reason, notice }) => [
    ['Reason', reason],
    ['Notice for clients', notice],
  ],
};

type Judgement = Judgements['judgements'][number];

/** Labels of decisions about days. */
export const DECISION_WORDS: Readonly<Record<Judgement['action'], string>> = {
  run: 'performed by hand',
  backfill: 'backfilled',
  skip: 'skipped',
  waive: 'accepted findings',
};

const judgements: Register<Judgement> = {
  title: 'Expert judgements',
  help: 'Decisions of people about the days of schedules, with their reasons: findings that were accepted, days that were skipped or performed again.',
  guide: 'governance',
  brief: 'Decisions of people about days of schedules, with their reasons.',
  noun: 'Judgement',
  label: 'judgements',
  empty: ['No judgement yet', 'Accepted findings and skipped days are recorded here, with their reasons.'],
  sort: { column: 'at', direction: 'desc' },
  async read(_, signal) {
    const { schedules } = await service.value.call('listSchedules', { signal });
    return collectRows(schedules, async ({ schedule_id: id }) => {
      const params = { schedule_id: id };
      return (await service.value.call('listJudgements', { params, query: { limit: 1000 }, signal })).judgements;
    });
  },
  keyOf: ({ schedule_id: schedule, seq }) => `${schedule} ${seq}`,
  searchIn: ({ schedule_id: schedule, date, author, check, index_id: index, identifier, reason }) =>
    `${schedule} ${date} ${author} ${check ?? ''} ${index ?? ''} ${identifier ?? ''} ${reason ?? ''}`,
  columns: [
    { id: 'at', title: 'Decided', width: 166, priority: 3, value: ({ at }) => at, show: ({ at }) => moment(at) },
    { id: 'author', title: 'Author', width: 76, value: ({ author }) => author },
    { id: 'action', title: 'Decision', width: 136, value: ({ action }) => DECISION_WORDS[action] },
    { id: 'schedule', title: 'Schedule', width: 84, priority: 4, value: (row) => row.schedule_id },
    { id: 'date', title: 'Session', width: 100, value: ({ date }) => date },
    { id: 'index', title: 'Index', width: 84, priority: 4, value: (row) => row.index_id },
    { id: 'check', title: 'Check', width: 130, priority: 5, value: ({ check }) => check && checkWords(check) },
    {
      id: 'reason',
      title: 'Reason',
      width: 110,
      grow: 3,
      priority: 2,
      value: ({ reason }) => reason,
      show: ({ reason }) => <span title={reason ?? ''}>{reason ?? NONE}</span>,
    },
  ],
  factsOf: ({ at, author, action, schedule_id: schedule, date, index_id: index, check, identifier, ...approval }) => [
    ['Decision', DECISION_WORDS[action]],
    ['Decided', `${moment(at)} by ${author}`],
    ['Approved', approvedBy(approval)],
    ['Day', <a href={addressOf(scheduleAddress(schedule), { day: date })}>{`${schedule}, ${date}`}</a>],
    ['Check', check && checkWords(check)],
    ['Index', action === 'waive' ? (index ?? 'every index of the schedule') : null],
    ['Security', identifier],
  ],
  textsOf: ({ reason, findings }) => [
    ['Reason', reason],
    ...findings.map(({ index_id: index, message }) => [`Finding of ${index}`, message] as const),
  ],
};

/** Renders the approvers with a link to the request, for example `by ben`; null if no approval was needed. */
function approvedBy({ approval_id: id, approved_by: names }: Pick<Judgement, 'approval_id' | 'approved_by'>) {
  return id === null ? null : <a href={approvalAddress(id)}>by {names.join(', ')}</a>;
}

type AuditEntry = AuditLog['entries'][number];

/** Maximum number of entries that the page lists; the exported file contains the full range. */
const LISTED_MAX = 5000;
const LOG_MEDIA = 'application/x-ndjson';

/** Returns the query for a range of whole days. */
const queryOf = ({ from, to }: Range) => ({ start: from, end: `${to}T23:59:59.999Z` });

async function saveExtract(range: Range): Promise<void> {
  const bytes = await service.value.download('getAudit', LOG_MEDIA, { query: queryOf(range) });
  saveFile(`audit-${range.from}-${range.to}.ndjson`, bytes);
}

/** Formats a kind with spaces, for example `data version` for `data-version`. */
const kindText = (kind: string): string => kind.replaceAll('-', ' ');

/** Formats an id without leading zeros, for example `EVEN, 3` for the third entry of a log, or `5` for an approval. */
const idText = (kind: string, id: string): string =>
  id.replace(/^(.*)\/0*(\d+)$/, (_, of: string, number: string) => (of === kind ? number : `${of}, ${number}`));

const audit: Register<AuditEntry> = {
  title: 'Audit log',
  help: `Each write of a document and each publication, in a signed chain of hashes. The page lists up to ${count(LISTED_MAX)} entries of the range; the extract contains all of them.`,
  guide: 'governance',
  brief: 'Each write and each publication, in a signed chain of hashes.',
  label: 'audit log',
  empty: ['No entry in this range', 'Choose other dates.'],
  sort: { column: 'seq', direction: 'desc' },
  hasRange: true,
  scope: 'audit',
  read: async (range, signal) =>
    (await service.value.call('getAudit', { query: { ...queryOf(range), limit: LISTED_MAX }, signal })).entries,
  keyOf: ({ seq }) => String(seq),
  searchIn: ({ author, action, kind, id, note }) =>
    `${author} ${action} ${kind} ${kindText(kind)} ${idText(kind, id)} ${note ?? ''}`,
  groupOf: ({ kind }) => kindText(kind),
  actions: (range) => <Button onClick={() => void attempt(() => saveExtract(range))}>Download the extract</Button>,
  columns: [
    numeric({ id: 'seq', title: 'No.', width: 72, priority: 3, of: ({ seq }) => seq, write: count }),
    { id: 'at', title: 'Time', width: 166, value: ({ at }) => at, show: ({ at }) => moment(at) },
    { id: 'author', title: 'Author', width: 68, ideal: 96, priority: 2, value: ({ author }) => author },
    { id: 'action', title: 'Action', width: 76, ideal: 96, priority: 2, value: ({ action }) => action },
    { id: 'kind', title: 'Document', width: 100, ideal: 116, value: ({ kind }) => kindText(kind) },
    { id: 'id', title: 'Id', width: 88, ideal: 120, grow: 2, value: ({ kind, id }) => idText(kind, id) },
    { id: 'version', title: 'Version', width: 76, align: 'right', priority: 5, value: ({ version }) => version },
    { id: 'note', title: 'Note', width: 120, grow: 3, priority: 4, value: ({ note }) => note ?? '' },
  ],
  factsOf: ({ at, author, key_id: key, action, kind, id, version, request_id: request, etag, hash, run_id: run }) => [
    ['Time', moment(at)],
    ['Author', author],
    ['Key', key ?? NONE],
    ['Action', action],
    ['Document', `${kindText(kind)} ${idText(kind, id)}`],
    ['Key of the document', `${kind} ${id}`],
    ['Version', version],
    ['Run', run ?? null],
    ['Request', request === '' ? NONE : request],
    ['Content', etag],
    ['Hash', hash],
  ],
  textsOf: ({ note }) => [['Note', note]],
};

/** All registers by name, in the order of the overview. Addresses contain the names. */
export const REGISTERS = { clients, procedures, errors, judgements, audit } as const;
