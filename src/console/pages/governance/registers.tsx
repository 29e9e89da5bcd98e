import type { AuditLog, Judgements, PublishedErrors } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { Button } from '../../components/button.js';
import { createNumericColumn } from '../../components/table/columns.js';
import { attempt } from '../../state/actions.js';
import { saveFile } from '../../state/files.js';
import { formatAddress } from '../../state/location.js';
import { service } from '../../state/service.js';
import { formatApprovalAddress, formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { formatMoment, createMomentFigure } from '../../words/dates.js';
import { formatCount, countValues, formatDecimal, MISSING_TEXT } from '../../words/numbers.js';
import { checkWords } from '../schedules/step-words.js';
import { AuditChain } from './audit-chain.js';
import { BySchedule, DECISION_COLUMNS } from './decisions.js';
import { clientsRegister, proceduresRegister } from './document-registers.js';
import { PublishedLogs } from './published-logs.js';
import { collectRows, type Range, type Register } from './register.js';

type PublishedError = PublishedErrors['errors'][number];

/** Badge kinds by the decision about an error. */
export const ERROR_KINDS = { restated: 'warning', announced: 'info', left: 'plain' } as const;

const errorsRegister: Register<PublishedError> = {
  title: 'Register of errors',
  guide: 'governance',
  brief: 'Restatements, and differences that were announced or left.',
  noun: 'Error',
  label: 'errors in published closes',
  empty: ['No error', 'No published close differs from a later run.'],
  sort: { column: 'at', direction: 'desc' },
  async read(_, signal) {
    const { statements } = await service.value.call('getGovernance', { signal });
    const wrong = statements.filter(({ errors: entries }) => entries > 0);
    return collectRows(wrong, async ({ index_id: id }) => {
      const params = { index_id: id };
      return (await service.value.call('listPublishedErrors', { params, query: { limit: 1000 }, signal })).errors;
    });
  },
  getKey: ({ index_id: index, seq }) => `${index} ${seq}`,
  formatName: ({ index_id: index, seq }) => `${formatCount(seq)} of ${index}`,
  searchIn: ({ index_id: index, decision, reason }) => `${index} ${decision} ${reason}`,
  groupLabel: 'Decision',
  formatGroup: ({ decision }) => decision,
  summarise(rows) {
    const filterRows = (wanted: PublishedError['decision']) => rows.filter(({ decision }) => decision === wanted);
    const sizes = rows.map(({ largest }) => Math.abs(largest?.change_bps ?? 0));
    const again = rows.reduce((sum, { restated }) => sum + restated, 0);
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
        note: `${countValues(again, 'close')} published again`,
      },
      { term: 'Announced', value: formatCount(filterRows('announced').length), note: 'material, closes stand' },
      { term: 'Left', value: formatCount(filterRows('left').length), note: 'immaterial, closes stand' },
      { term: 'Largest change', value: rows.length === 0 ? MISSING_TEXT : `${formatDecimal(Math.max(...sizes))} bp` },
    ];
  },
  isNewestShown: true,
  below: () => <PublishedLogs />,
  columns: [
    ...DECISION_COLUMNS,
    { id: 'index', title: 'Index', width: 136, ideal: 144, grow: 1, value: (row) => row.index_id },
    {
      id: 'decision',
      title: 'Decision',
      width: 96,
      value: ({ decision }) => decision,
      show: ({ decision }) => <Badge kind={ERROR_KINDS[decision]}>{decision}</Badge>,
    },
    { id: 'first', title: 'From', width: 104, priority: 2, value: ({ first }) => first },
    { id: 'last', title: 'To', width: 104, priority: 6, value: ({ last }) => last },
    createNumericColumn({
      id: 'dates',
      title: 'Dates',
      width: 72,
      priority: 4,
      of: ({ dates }) => dates,
      write: formatCount,
    }),
    createNumericColumn({
      id: 'size',
      title: 'Size, bp',
      help: 'Largest change of a level',
      width: 84,
      of: ({ largest }) => largest?.change_bps ?? null,
      write: formatDecimal,
    }),
    {
      id: 'reason',
      title: 'Reason',
      width: 200,
      ideal: 430,
      grow: 8,
      priority: 3,
      value: ({ reason }) => reason,
      show: ({ reason }) => <span title={reason}>{withoutSize(reason)}</span>,
    },
    { id: 'author', title: 'Author', width: 80, priority: 7, value: ({ author }) => author },
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
    ['Largest change', largest && `${formatDecimal(largest.change_bps)} bp on ${largest.date}`],
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

/** Removes the size of the error, which has its own column, from the reason of an error policy. */
function withoutSize(reason: string): string {
  const rest = reason.replace(/^The largest difference is [\d.,]+ bp, /, '');
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

type Judgement = Judgements['judgements'][number];

/** Labels of decisions about days. */
export const DECISION_WORDS: Readonly<Record<Judgement['action'], string>> = {
  run: 'performed by hand',
  backfill: 'backfilled',
  skip: 'skipped',
  waive: 'accepted findings',
};

const judgementsRegister: Register<Judgement> = {
  title: 'Expert judgements',
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
      { term: 'Performed by hand', value: formatCount(byHand.length), note: `${formatCount(bare)} without a reason` },
      { term: 'Approved by others', value: formatCount(rows.filter(({ approval_id: id }) => id !== null).length) },
    ];
  },
  isNewestShown: true,
  below: (rows) => <BySchedule rows={rows} />,
  columns: [
    ...DECISION_COLUMNS,
    { id: 'author', title: 'Author', width: 76, priority: 3, value: ({ author }) => author },
    { id: 'action', title: 'Decision', width: 132, value: ({ action }) => DECISION_WORDS[action] },
    { id: 'schedule', title: 'Schedule', width: 84, priority: 5, value: (row) => row.schedule_id },
    { id: 'date', title: 'Session', width: 96, priority: 2, value: ({ date }) => date },
    { id: 'index', title: 'Index', width: 84, priority: 4, value: (row) => row.index_id },
    { id: 'check', title: 'Check', width: 130, priority: 5, value: ({ check }) => check && checkWords(check) },
    {
      id: 'reason',
      title: 'Reason',
      width: 110,
      grow: 4,
      value: ({ reason }) => reason,
      show: ({ reason }) =>
        reason === null ? <span class="quiet">none given</span> : <span title={reason}>{reason}</span>,
    },
  ],
  listFacts: ({ at, author, action, schedule_id: schedule, date, index_id: index, check, identifier, ...approval }) => [
    ['Decision', DECISION_WORDS[action]],
    ['Decided', `${formatMoment(at)} by ${author}`],
    ['Approved', renderApprover(approval)],
    ['Day', <a href={formatAddress(formatScheduleAddress(schedule), { day: date })}>{`${schedule}, ${date}`}</a>],
    ['Check', check && checkWords(check)],
    ['Index', action === 'waive' ? (index ?? 'every index of the schedule') : null],
    ['Security', identifier],
  ],
  listTexts: ({ reason, findings }) => [
    ['Reason', reason],
    ...findings.map(({ index_id: index, message }) => [`Finding of ${index}`, message] as const),
  ],
};

/** Renders the approvers with a link to the request, for example `by ben`; null if no approval was needed. */
function renderApprover({ approval_id: id, approved_by: names }: Pick<Judgement, 'approval_id' | 'approved_by'>) {
  return id === null ? null : <a href={formatApprovalAddress(id)}>by {names.join(', ')}</a>;
}

/** Audit entry with the part of the log that contains it. */
type AuditEntry = AuditLog['entries'][number] & { readonly log: AuditLog };

/** Maximum number of entries that the page lists; the exported file contains the full range. */
const LISTED_MAX = 5000;
const LOG_MEDIA = 'application/x-ndjson';

/** Returns the query for a range of whole days. */
const createQuery = ({ from, to }: Range) => ({ start: from, end: `${to}T23:59:59.999Z` });

async function saveExtract(range: Range): Promise<void> {
  const bytes = await service.value.download('getAudit', LOG_MEDIA, { query: createQuery(range) });
  saveFile(`audit-${range.from}-${range.to}.ndjson`, bytes);
}

/** Formats a kind with spaces, for example `data version` for `data-version`. */
const formatKind = (kind: string): string => kind.replaceAll('-', ' ');

/** Formats an id without leading zeros, for example `EVEN, 3` for the third entry of a log, or `5` for an approval. */
const formatId = (kind: string, id: string): string =>
  id.replace(/^(.*)\/0*(\d+)$/, (_, of: string, number: string) => (of === kind ? number : `${of}, ${number}`));

const auditRegister: Register<AuditEntry> = {
  title: 'Audit log',
  guide: 'governance',
  brief: 'Each write and each publication, in a signed chain of hashes.',
  label: 'audit log',
  empty: ['No entry in this range', 'Choose other dates.'],
  sort: { column: 'seq', direction: 'desc' },
  hasRange: true,
  scope: 'audit',
  async read(range, signal) {
    const log = await service.value.call('getAudit', { query: { ...createQuery(range), limit: LISTED_MAX }, signal });
    return log.entries.map((entry) => ({ ...entry, log }));
  },
  above: ([first]) => first && <AuditChain log={first.log} />,
  getKey: ({ seq }) => String(seq),
  searchIn: ({ author, action, kind, id, note }) =>
    `${author} ${action} ${kind} ${formatKind(kind)} ${formatId(kind, id)} ${note ?? ''}`,
  groupLabel: 'Document',
  formatGroup: ({ kind }) => formatKind(kind),
  summarise(rows) {
    const last = rows
      .map(({ at }) => at)
      .toSorted()
      .at(-1);
    const ended = last === undefined ? { value: MISSING_TEXT } : createMomentFigure(last);
    return [
      {
        term: 'Entries',
        value: formatCount(rows.length),
        note: rows.length < LISTED_MAX ? 'in the range' : 'the first of the range',
      },
      { term: 'Authors', value: formatCount(new Set(rows.map(({ author }) => author)).size) },
      { term: 'Documents', value: formatCount(new Set(rows.map(({ kind, id }) => `${kind} ${id}`)).size) },
      { term: 'Latest entry', ...ended },
    ];
  },
  actions: (range) => <Button onClick={() => void attempt(() => saveExtract(range))}>Download the extract</Button>,
  columns: [
    createNumericColumn({
      id: 'seq',
      title: 'No.',
      width: 72,
      priority: 3,
      below: 'nothing',
      of: ({ seq }) => seq,
      write: formatCount,
    }),
    { id: 'at', title: 'Time', width: 166, value: ({ at }) => at, show: ({ at }) => formatMoment(at) },
    { id: 'author', title: 'Author', width: 68, ideal: 96, priority: 2, value: ({ author }) => author },
    { id: 'action', title: 'Action', width: 76, ideal: 96, priority: 2, value: ({ action }) => action },
    { id: 'kind', title: 'Document', width: 100, ideal: 116, value: ({ kind }) => formatKind(kind) },
    { id: 'id', title: 'Id', width: 136, ideal: 144, grow: 2, value: ({ kind, id }) => formatId(kind, id) },
    { id: 'version', title: 'Version', width: 76, align: 'right', priority: 5, value: ({ version }) => version },
    { id: 'note', title: 'Note', width: 120, grow: 3, priority: 4, value: ({ note }) => note ?? '' },
  ],
  listFacts: ({ at, author, key_id: key, action, kind, id, version, request_id: request, etag, hash, run_id: run }) => [
    ['Time', formatMoment(at)],
    ['Author', author],
    ['Key', key ?? MISSING_TEXT],
    ['Action', action],
    ['Document', `${formatKind(kind)} ${formatId(kind, id)}`],
    ['Key of the document', `${kind} ${id}`],
    ['Version', version],
    ['Run', run ?? null],
    ['Request', request === '' ? MISSING_TEXT : request],
    ['Content', etag],
    ['Hash', hash],
  ],
  listTexts: ({ note }) => [['Note', note]],
};

/** All registers by name, in the order of the overview. Addresses contain the names. */
export const REGISTERS = {
  clients: clientsRegister,
  procedures: proceduresRegister,
  errors: errorsRegister,
  judgements: judgementsRegister,
  audit: auditRegister,
} as const;
