import type { Judgements, PublishedErrors } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { formatAddress } from '../../state/location.js';
import { service } from '../../state/service.js';
import { formatApprovalAddress, formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { formatMoment } from '../../words/dates.js';
import { formatCount, countValues, formatDecimal, MISSING_TEXT } from '../../words/numbers.js';
import { formatLevelChange } from '../../words/publication.js';
import { formatCheck } from '../schedules/step-words.js';
import { auditRegister } from './audit-register.js';
import { BySchedule, DECISION_COLUMNS } from './decisions.js';
import { clientsRegister, proceduresRegister } from './document-registers.js';
import { PublishedLogs } from './published-logs.js';
import { collectRows, type Register } from './register.js';

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
      title: 'Largest change',
      width: 116,
      of: ({ largest }) => largest?.change_bps ?? null,
      write: (bps) => (bps === null ? MISSING_TEXT : formatLevelChange(bps)),
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
      {
        term: 'Performed or backfilled',
        value: formatCount(byHand.length),
        note: `${formatCount(bare)} without a reason`,
      },
      { term: 'Approved by others', value: formatCount(rows.filter(({ approval_id: id }) => id !== null).length) },
    ];
  },
  below: (rows) => <BySchedule rows={rows} />,
  columns: [
    ...DECISION_COLUMNS,
    { id: 'author', title: 'Author', width: 76, priority: 6, value: ({ author }) => author },
    { id: 'action', title: 'Decision', width: 118, value: ({ action }) => DECISION_WORDS[action] },
    { id: 'schedule', title: 'Schedule', width: 112, value: (row) => row.schedule_id },
    { id: 'date', title: 'Session', width: 90, below: 'text', value: ({ date }) => date, show: formatDecidedSessions },
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
      value: ({ reason }) => reason,
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
  return judgementsRegister.columns
    .filter(({ id, value }) => !OPTIONAL_COLUMNS.includes(id) || rows.some((row) => (value(row) ?? '') !== ''))
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
export const REGISTERS = {
  clients: clientsRegister,
  procedures: proceduresRegister,
  errors: errorsRegister,
  judgements: judgementsRegister,
  audit: auditRegister,
} as const;
