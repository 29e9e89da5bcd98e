import type { DivisorClient, ScheduleBody, ScheduleDay, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import type { CheckName } from '#domain/daily-plans/check-catalogue.js';
import { readJsonFile, type FlagValues } from '../command-line.js';
import { EXIT } from '../connection.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { createViewCommand } from './view-command.js';

const SCHEDULE = { name: 'SCHEDULE', help: 'Id of a schedule.' };
const REASON = {
  reason: { type: 'string', value: 'TEXT', help: 'Reason, which the register of decisions records.' },
} as const;

export const schedules = createViewCommand({
  summary: 'List the schedules.',
  words: [],
  flags: {},
  examples: ['divisor schedule list'],
  ask: (client) => client.call('listSchedules', {}),
  records: (answer) =>
    answer.schedules.map(({ indices, steps, ...rest }) => ({
      ...rest,
      indices: indices.length,
      steps: steps.map(({ type }) => type).join(' '),
    })),
  columns: ['schedule_id', 'name', 'enabled', 'calendar', 'at', 'indices', 'steps'],
});

export const putSchedule = createViewCommand({
  summary: 'Store the daily plan of an index family. The service performs the plan.',
  words: [
    { name: 'ID', help: 'Id of the schedule.' },
    { name: 'FILE', help: 'Schedule as JSON; - reads standard input.' },
  ],
  flags: NOTE,
  examples: ['divisor schedule put close close.json --note "Closing files for ACME"'],
  async ask(client, [schedule_id = '', file = ''], flags) {
    const body = await readJsonFile<ScheduleBody>(file);
    return client.call('putSchedule', { params: { schedule_id }, body, note: flags.text('note') });
  },
  records: (schedule) => [schedule],
  columns: ['schedule_id', 'name', 'calendar', 'at', 'starts_on'],
});

export const showSchedule = createViewCommand({
  summary: 'Show the daily plan of an index family; --out FILE.json writes it.',
  words: [SCHEDULE],
  flags: {},
  examples: ['divisor schedule show close', 'divisor schedule show close --out close.json'],
  ask: (client, [schedule_id = '']) => client.call('getSchedulePlan', { params: { schedule_id } }),
  records: ({ steps }) => steps.map(({ type, ...terms }, k) => ({ step: k + 1, type, terms: JSON.stringify(terms) })),
  notices: ({ name, indices, calendar, at, enabled }) => [
    `${name}: ${indices.join(', ')}, sessions of ${calendar} at ${at}${enabled ? '' : ', disabled'}`,
  ],
});

const WAIT = {
  wait: {
    type: 'number',
    value: 'SECONDS',
    help: 'Maximum number of seconds (up to 60) for which the command waits until no step of the day is running.',
  },
} as const;

/**
 * Returns the exit status of a command that waits for a day: 0 if the day is done for every index or was skipped, 1 if
 * the day or an index is blocked or the day was missed, 74 if it has not ended in this time. A command that does not
 * wait only asks.
 */
function computeDayStatus({ state, held }: ScheduleDay, flags: FlagValues): number {
  if (flags.number('wait') === undefined) return EXIT.done;
  if (state === 'waiting' || state === 'running') return EXIT.late;
  return state === 'blocked' || state === 'missed' || held.length > 0 ? EXIT.jobFailed : EXIT.done;
}

const WAIT_NOTES =
  'With --wait, the exit status is 0 if the day is done for every index, 1 if it or an index is blocked, and 74 if it has not ended.';

const DAY_COLUMNS = ['date', 'state', 'step', 'is_late', 'held', 'finished_at', 'reason'];
const toDayRow = ({ held, ...day }: Omit<ScheduleDaySummary, 'step'> & { readonly step?: string | null }) => ({
  ...day,
  held: held.length,
});
const listStepRows = ({ steps }: ScheduleDay) =>
  steps.map(({ items, log: _log, held, indices, ...step }) => ({
    ...step,
    state: step.state === 'done' && held > 0 ? `held (${held} of ${indices})` : step.state,
    done: items.filter(({ state }) => state === 'done').length,
    open: items.filter(({ state }) => state !== 'done').length,
  }));
const STEP_COLUMNS = ['type', 'state', 'attempts', 'duration_ms', 'done', 'open', 'message'];

/**
 * Formats the lines below the steps of a day: its state, the indices that are blocked, and the files that are not
 * delivered.
 */
const listNotices = ({ date, state, reason, held, steps, next_attempt_at: next }: ScheduleDay): string[] => [
  `${date} is ${state}${reason === null ? '' : `: ${reason}`}`,
  ...(state === 'running' && next !== null ? ['It is performed again after the current attempt.'] : []),
  ...held.map((index) => `${index.index_id} has been held back since ${index.since} (${index.step}): ${index.reason}`),
  ...steps.flatMap(({ type, items }) =>
    items.flatMap(({ index_id, key, state: itemState, message }) =>
      index_id === null && itemState !== 'done' ? [`${type} ${key}: ${message}`] : [],
    ),
  ),
];

export const scheduleStatus = createViewCommand({
  summary: 'List the days of a schedule, or the steps of one day.',
  words: [SCHEDULE],
  flags: {
    date: { type: 'string', value: 'DATE', help: 'Session whose steps are listed. Default: list the latest days.' },
    limit: { type: 'number', value: 'N', help: 'Number of days. Default: 20.' },
    ...WAIT,
  },
  notes: WAIT_NOTES,
  examples: ['divisor schedule status close', 'divisor schedule status close --date 2024-12-31 --wait 60'],
  async ask(client, [schedule_id = ''], flags): Promise<ScheduleDay | DayListing> {
    const date = flags.text('date');
    if (date !== undefined) return readDay(client, { schedule_id, date }, flags);
    return client.call('listScheduleDays', { params: { schedule_id }, query: { limit: flags.number('limit') } });
  },
  records: (result) => ('steps' in result ? listStepRows(result) : result.days.map(toDayRow)),
  notices: (result) => {
    if ('steps' in result) return listNotices(result);
    return result.next === null ? [] : [`next: ${result.next.date}, due ${result.next.due_at}`];
  },
  exitStatus: (result, flags) => ('steps' in result ? computeDayStatus(result, flags) : EXIT.done),
});

const readDay = (
  client: DivisorClient,
  params: { readonly schedule_id: string; readonly date: string },
  flags: FlagValues,
) => client.call('getScheduleDay', { params, query: { wait: flags.number('wait') } });

type DayListing = Awaited<ReturnType<typeof readListedDays>>;
const readListedDays = (client: DivisorClient, schedule_id: string) =>
  client.call('listScheduleDays', { params: { schedule_id } });

export const runSchedule = createViewCommand({
  summary: 'Perform the day of a session now, or after the current attempt. Existing results are kept.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }],
  flags: {
    ...REASON,
    again: {
      type: 'string',
      value: 'STEPS',
      help: 'Steps that write their files again, separated by commas: export,render.',
    },
    ...WAIT,
  },
  notes: WAIT_NOTES,
  examples: ['divisor schedule run close 2024-12-31 --wait 60', 'divisor schedule run close 2024-12-31 --again export'],
  exitStatus: computeDayStatus,
  async ask(client, [schedule_id = '', date = ''], flags) {
    const params = { schedule_id, date };
    const body = { again: listAgain(flags) as never, reason: flags.text('reason') ?? null }; // The service checks the names.
    const day = await client.call('runScheduleDay', { params, body });
    return flags.number('wait') === undefined ? day : readDay(client, params, flags);
  },
  records: listStepRows,
  columns: STEP_COLUMNS,
  notices: listNotices,
});

const listAgain = (flags: FlagValues): string[] => (flags.text('again') ?? '').split(',').filter((name) => name !== '');

export const skipSchedule = createViewCommand({
  summary: 'End a day that is not done, with a reason.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }],
  flags: REASON,
  examples: ['divisor schedule skip close 2024-12-31 --reason "The exchange was closed"'],
  ask(client, [schedule_id = '', date = ''], flags) {
    const reason = flags.text('reason');
    if (reason === undefined) throw new UsageError('divisor schedule skip requires --reason');
    return client.call('skipScheduleDay', { params: { schedule_id, date }, body: { reason } });
  },
  records: (day) => [toDayRow(day)],
  columns: DAY_COLUMNS,
});

export const waiveSchedule = createViewCommand({
  summary: 'Accept findings of a check on a day, with a reason.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }, { name: 'CHECK', help: 'Check whose findings are accepted.' }],
  flags: {
    ...REASON,
    index: { type: 'string', value: 'INDEX', help: 'Index. Default: every index of the schedule.' },
    security: { type: 'string', value: 'ID', help: 'Security or series of the finding. Default: every finding.' },
  },
  examples: ['divisor schedule waive close 2024-12-31 moves --security AAPL --reason "Results were published"'],
  ask(client, [schedule_id = '', date = '', check = ''], flags) {
    const reason = flags.text('reason');
    if (reason === undefined) throw new UsageError('divisor schedule waive needs --reason');
    const index_id = flags.text('index') ?? null;
    const identifier = flags.text('security') ?? null;
    const body = { check: check as CheckName, index_id, identifier, reason }; // The service checks the name.
    return client.call('waiveScheduleCheck', { params: { schedule_id, date }, body });
  },
  records: (day) => [toDayRow(day)],
  columns: DAY_COLUMNS,
});

export const backfillSchedule = createViewCommand({
  summary: 'Perform the days of a range of sessions, oldest first.',
  words: [SCHEDULE, { name: 'START', help: 'First session.' }, { name: 'END', help: 'Last session.' }],
  flags: REASON,
  examples: ['divisor schedule backfill close 2024-12-01 2024-12-31'],
  ask: (client, [schedule_id = '', start = '', end = ''], flags) =>
    client.call('backfillSchedule', {
      params: { schedule_id },
      body: { start, end, reason: flags.text('reason') ?? null },
    }),
  records: ({ dates }) => dates.map((date) => ({ date })),
});

export const judgements = createViewCommand({
  summary: 'List the decisions of people about the days of a schedule, with their reasons.',
  words: [SCHEDULE],
  flags: {},
  examples: ['divisor schedule judgements close'],
  ask: (client, [schedule_id = '']) =>
    client.call('listJudgements', { params: { schedule_id }, query: { limit: 1000 } }),
  records: (result) => result.judgements,
  columns: ['seq', 'at', 'author', 'action', 'date', 'index_id', 'check', 'identifier', 'reason'],
});
