import type { DivisorClient, ScheduleBody, ScheduleDay, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { jsonFile, type FlagValues } from '../command-line.js';
import { UsageError } from '../usage-error.js';
import { NOTE } from './documents.js';
import { viewCommand } from './view-command.js';

const SCHEDULE = { name: 'SCHEDULE', help: 'Id of a schedule.' };
const REASON = { reason: { type: 'string', value: 'TEXT', help: 'Why, for the register of decisions.' } } as const;

export const schedules = viewCommand({
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

export const putSchedule = viewCommand({
  summary: 'Store the daily plan of an index family, which the service performs.',
  words: [
    { name: 'ID', help: 'Id of the schedule.' },
    { name: 'FILE', help: 'Schedule as JSON; - is standard input.' },
  ],
  flags: NOTE,
  examples: ['divisor schedule put close close.json --note "Closing files for ACME"'],
  async ask(client, [schedule_id = '', file = ''], flags) {
    const body = await jsonFile<ScheduleBody>(file);
    return client.call('putSchedule', { params: { schedule_id }, body, note: flags.text('note') });
  },
  records: (schedule) => [schedule],
  columns: ['schedule_id', 'name', 'calendar', 'at', 'starts_on'],
});

const DAY_COLUMNS = ['date', 'state', 'step', 'is_late', 'held', 'finished_at', 'reason'];
const dayRow = ({ held, ...day }: Omit<ScheduleDaySummary, 'step'> & { readonly step?: string | null }) => ({
  ...day,
  held: held.length,
});
const stepRows = ({ steps }: ScheduleDay) =>
  steps.map(({ items, log: _log, ...step }) => ({
    ...step,
    done: items.filter(({ state }) => state === 'done').length,
    open: items.filter(({ state }) => state !== 'done').length,
  }));
const STEP_COLUMNS = ['type', 'state', 'attempts', 'duration_ms', 'done', 'open', 'message'];

/** Lines below the steps of a day: its state, and what is held back. */
const noticesOf = ({ date, state, reason, held, steps }: ScheduleDay): string[] => [
  `${date} is ${state}${reason === null ? '' : `: ${reason}`}`,
  ...held.map((index) => `${index.index_id} is held back since ${index.since} (${index.step}): ${index.reason}`),
  ...steps.flatMap(({ type, items }) =>
    items.flatMap(({ index_id, key, state: at, message }) =>
      index_id === null && at !== 'done' ? [`${type} ${key}: ${message}`] : [],
    ),
  ),
];

export const scheduleStatus = viewCommand({
  summary: 'The days of a schedule, or the steps of one day.',
  words: [SCHEDULE],
  flags: {
    date: { type: 'string', value: 'DATE', help: 'Session whose steps are shown. Default: the last days.' },
    limit: { type: 'number', value: 'N', help: 'Days shown. Default: 20.' },
  },
  examples: ['divisor schedule status close', 'divisor schedule status close --date 2024-12-31'],
  async ask(client, [schedule_id = ''], flags): Promise<ScheduleDay | DayListing> {
    const date = flags.text('date');
    if (date !== undefined) return client.call('getScheduleDay', { params: { schedule_id, date } });
    return client.call('listScheduleDays', { params: { schedule_id }, query: { limit: flags.number('limit') } });
  },
  records: (result) => ('steps' in result ? stepRows(result) : result.days.map(dayRow)),
  notices: (result) => {
    if ('steps' in result) return noticesOf(result);
    return result.next === null ? [] : [`next: ${result.next.date}, due ${result.next.due_at}`];
  },
});

type DayListing = Awaited<ReturnType<typeof listedDays>>;
const listedDays = (client: DivisorClient, schedule_id: string) =>
  client.call('listScheduleDays', { params: { schedule_id } });

export const runSchedule = viewCommand({
  summary: 'Perform the day of a session at once; results that exist are kept.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }],
  flags: {
    ...REASON,
    again: { type: 'string', value: 'STEPS', help: 'Steps whose files are written again, with commas: export,render.' },
  },
  examples: ['divisor schedule run close 2024-12-31', 'divisor schedule run close 2024-12-31 --again export'],
  ask: (client, [schedule_id = '', date = ''], flags) =>
    client.call('runScheduleDay', {
      params: { schedule_id, date },
      body: { again: againOf(flags) as never, reason: flags.text('reason') ?? null }, // The service checks the names.
    }),
  records: stepRows,
  columns: STEP_COLUMNS,
  notices: noticesOf,
});

const againOf = (flags: FlagValues): string[] => (flags.text('again') ?? '').split(',').filter((name) => name !== '');

export const skipSchedule = viewCommand({
  summary: 'End a day that is not done, with a reason.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }],
  flags: REASON,
  examples: ['divisor schedule skip close 2024-12-31 --reason "The exchange was closed"'],
  ask(client, [schedule_id = '', date = ''], flags) {
    const reason = flags.text('reason');
    if (reason === undefined) throw new UsageError('divisor schedule skip needs --reason');
    return client.call('skipScheduleDay', { params: { schedule_id, date }, body: { reason } });
  },
  records: (day) => [dayRow(day)],
  columns: DAY_COLUMNS,
});

export const backfillSchedule = viewCommand({
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

export const judgements = viewCommand({
  summary: 'What people decided about the days of a schedule, with their reasons.',
  words: [SCHEDULE],
  flags: {},
  examples: ['divisor schedule judgements close'],
  ask: (client, [schedule_id = '']) =>
    client.call('listJudgements', { params: { schedule_id }, query: { limit: 1000 } }),
  records: (result) => result.judgements,
  columns: ['seq', 'at', 'author', 'action', 'date', 'reason'],
});
