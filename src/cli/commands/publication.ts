import { readFile } from 'node:fs/promises';
import type { ClientBody, DivisorClient, ScheduleDay, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { UsageError } from '../usage.js';
import { type FlagValues, readJsonFile } from './command-line.js';
import { EXIT } from './connection.js';
import { NOTE } from './documents.js';
import { createOperationCommand, createOperationView, createViewCommand, formatMembers } from './job-command.js';

const CLIENT = { name: 'CLIENT', help: 'Id of a client.' };
const formatList = (values: readonly string[] | null): string => values?.join(' ') ?? 'all';

const clients = createOperationView({
  operation: 'listClients',
  summary: 'List the clients that receive files, with their entitlements.',
  flags: {
    index: { value: 'INDEX', member: 'index_id', help: 'Only clients with an entitlement to this index.' },
  },
  examples: ['divisor client list', 'divisor client list --index LARGE-100'],
  records: (answer) =>
    answer.clients.map(({ client_id, name, enabled, entitlements, targets }) => ({
      client_id,
      name,
      enabled,
      entitlements: entitlements
        .map(({ indices, tables }) => `${formatList(indices)}: ${formatList(tables)}`)
        .join('; '),
      targets: targets.map(({ name: target, type }) => `${target} (${type})`).join(' '),
    })),
  columns: ['client_id', 'name', 'enabled', 'entitlements', 'targets'],
});

const showClient = createOperationView({
  operation: 'getClient',
  summary: 'Show the entitlements of a client, or its targets.',
  words: [CLIENT],
  flags: { targets: { type: 'boolean', member: null, help: 'List the targets of the client.' } },
  examples: ['divisor client show ACME', 'divisor client show ACME --targets'],
  records: ({ entitlements, targets, secrets }, flags): readonly object[] =>
    flags.isSet('targets') === true
      ? targets.map((target) => ({
          name: target.name,
          type: target.type,
          to: target.type === 'mail' ? target.to.join(' ') : target.url,
          tables: formatList(target.tables),
          has_secret: secrets.includes(target.name),
        }))
      : entitlements.map(({ indices, tables, starts_on, ends_on }) => ({
          indices: formatList(indices),
          tables: formatList(tables),
          starts_on,
          ends_on,
        })),
});

const putClient = createViewCommand({
  summary: 'Store a client with its entitlements and targets.',
  words: [
    { name: 'ID', help: 'Id of the client.' },
    { name: 'FILE', help: 'Client as JSON; - reads standard input.' },
  ],
  flags: {
    secrets: {
      value: 'TARGET=FILE,...',
      help: 'Files with the password or private key of targets. Default: the secrets in the JSON, otherwise the stored secrets.',
    },
    ...NOTE,
  },
  examples: ['divisor client put ACME acme.json', 'divisor client put ACME acme.json --secrets ftp=acme_ed25519'],
  async ask(client, [client_id = '', file = ''], flags) {
    const body = await readJsonFile<ClientBody>(file);
    const secrets = await readSecrets(flags.text('secrets'));
    const names = (body.targets ?? []).map(({ name }) => name);
    const other = [...secrets.keys()].find((name) => !names.includes(name));
    if (other !== undefined)
      throw new UsageError(
        `${file} has no target with "name": "${other}"; its targets are ${names.join(', ') || 'none'}`,
      );
    const targets = (body.targets ?? []).map((target) =>
      secrets.has(target.name) ? ({ ...target, secret: secrets.get(target.name) } as typeof target) : target,
    );
    return client.call('putClient', { params: { client_id }, body: { ...body, targets }, note: flags.text('note') });
  },
  records: ({ client_id, name, entitlements, targets, secrets }) => [
    { client_id, name, entitlements: entitlements.length, targets: targets.length, secrets: secrets.length },
  ],
});

/** Reads the contents of files by target. The line break after a password is removed; a key keeps its lines. */
async function readSecrets(text: string | undefined): Promise<Map<string, string>> {
  const secrets = new Map<string, string>();
  for (const pair of text?.split(',') ?? []) {
    const [target = '', path = ''] = pair.split('=');
    const content = await readFile(path, 'utf8').catch(() =>
      Promise.reject(new UsageError(`--secrets takes TARGET=FILE; there is no file ${JSON.stringify(path)}`)),
    );
    secrets.set(target, content.includes('-----BEGIN') ? content : content.trimEnd());
  }
  return secrets;
}

const deliveries = createOperationView({
  operation: 'listDeliveries',
  summary: 'List the files that a client has received or will receive, or the log of the attempts.',
  words: [CLIENT],
  flags: {
    schedule: { value: 'SCHEDULE', member: 'schedule_id', help: 'Only days of this schedule.' },
    before: { value: 'DATE', help: 'Only days before this day.' },
    limit: { type: 'number', value: 'N', help: 'Number of days. Default: 20.' },
    log: { type: 'boolean', member: null, help: 'List attempts and results instead of files.' },
  },
  examples: ['divisor client deliveries ACME', 'divisor client deliveries ACME --limit 1 --log'],
  records: ({ deliveries: records }, flags): readonly object[] =>
    flags.isSet('log') === true
      ? records.flatMap(({ schedule_id, date, log }) => log.map((line) => ({ date, schedule_id, ...line })))
      : records.flatMap(({ schedule_id, date, files }) =>
          files.map(({ target, path, state, attempts, delivered_at, message }) => ({
            date,
            schedule_id,
            target,
            path,
            state,
            attempts,
            delivered_at,
            message,
          })),
        ),
});

const INDEX = { name: 'INDEX', help: 'Id of an index.' };

const publish = createOperationCommand({
  operation: 'publishIndex',
  summary: 'Publish the closes of a stored run that are not yet published, or restate published closes that differ.',
  words: [INDEX],
  notes:
    'A run with differences from published closes is refused with RESTATEMENT, and incomplete closes are refused with PARTIAL_CLOSES. Nothing is appended.',
  flags: {
    'run-id': { value: 'RUN', help: 'Id of a stored run. Default: the newest run that is current.' },
    through: { value: 'DATE', help: 'Last date to publish. Default: the last date of the run.' },
    restate: { type: 'boolean', help: 'Publish closes with differences again. Requires --reason.' },
    reason: { value: 'TEXT', help: 'Reason, which the log records. A restatement requires a reason.' },
    'allow-partial': {
      type: 'boolean',
      help: 'Publish closes even if constituents have no bar. The log records this.',
    },
  },
  examples: [
    'divisor publish CORE-100 --through 2024-06-28',
    'divisor publish CORE-100 --restate --reason "Late dividend of 2024-06-14"',
  ],
  show: ({ stale, ...result }) =>
    formatMembers({ ...result, stale: stale?.reasons.join(' ') ?? null }, [
      'published',
      'restated',
      'through',
      'head',
      'run_id',
      'stale',
    ]),
});

const publishedKeys = createOperationView({
  operation: 'getPublishedKeys',
  summary:
    'Print the public keys that sign the published log of an index. --out writes them for verify-published --key.',
  words: [INDEX],
  examples: ['divisor publication keys CORE-100', 'divisor publication keys CORE-100 --out keys.json'],
  records: ({ keys }) => keys,
});

const rotateKey = createOperationCommand({
  operation: 'rotateSigningKey',
  summary: 'Replace the signing key. Signatures of earlier keys stay valid.',
  examples: ['divisor publication rotate'],
  show: (key) => formatMembers(key, ['key_id']),
});

const SCHEDULE = { name: 'SCHEDULE', help: 'Id of a schedule.' };
const REASON = {
  reason: { value: 'TEXT', help: 'Reason, which the register of decisions records.' },
} as const;

const schedules = createOperationView({
  operation: 'listSchedules',
  summary: 'List the schedules.',
  examples: ['divisor schedule list'],
  records: (answer) =>
    answer.schedules.map(({ indices, steps, ...rest }) => ({
      ...rest,
      indices: indices.length,
      steps: steps.map(({ type }) => type).join(' '),
    })),
  columns: ['schedule_id', 'name', 'enabled', 'calendar', 'at', 'indices', 'steps'],
});

const putSchedule = createOperationView({
  operation: 'putSchedule',
  summary: 'Store the daily plan of an index family. The service performs the plan.',
  words: [
    { name: 'ID', help: 'Id of the schedule.' },
    { name: 'FILE', help: 'Schedule as JSON; - reads standard input.', isBody: true },
  ],
  flags: NOTE,
  examples: ['divisor schedule put close close.json --note "Closing files for ACME"'],
  records: (schedule) => [schedule],
  columns: ['schedule_id', 'name', 'calendar', 'at', 'starts_on'],
});

const showSchedule = createOperationView({
  operation: 'getSchedulePlan',
  summary: 'Show the daily plan of an index family; --out FILE.json writes it.',
  words: [SCHEDULE],
  examples: ['divisor schedule show close', 'divisor schedule show close --out close.json'],
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

const scheduleStatus = createViewCommand({
  summary: 'List the days of a schedule, or the steps of one day.',
  words: [SCHEDULE],
  flags: {
    date: { value: 'DATE', help: 'Session whose steps are listed. Default: list the latest days.' },
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

const runSchedule = createViewCommand({
  summary: 'Perform the day of a session now, or after the current attempt. Existing results are kept.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }],
  flags: {
    ...REASON,
    again: { value: 'STEPS', help: 'Steps that write their files again, separated by commas: export,render.' },
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

const skipSchedule = createOperationView({
  operation: 'skipScheduleDay',
  summary: 'End a day that is not done, with a reason.',
  words: [SCHEDULE, { name: 'DATE', help: 'Session.' }],
  flags: { reason: { ...REASON.reason, isRequired: true } },
  examples: ['divisor schedule skip close 2024-12-31 --reason "The exchange was closed"'],
  records: (day) => [toDayRow(day)],
  columns: DAY_COLUMNS,
});

const waiveSchedule = createOperationView({
  operation: 'waiveScheduleCheck',
  summary: 'Accept findings of a check on a day, with a reason.',
  words: [
    SCHEDULE,
    { name: 'DATE', help: 'Session.' },
    { name: 'CHECK', help: 'Check whose findings are accepted.', member: 'check' },
  ],
  flags: {
    reason: { ...REASON.reason, isRequired: true },
    index: {
      value: 'INDEX',
      member: 'index_id',
      otherwise: null,
      help: 'Index. Default: every index of the schedule.',
    },
    security: {
      value: 'ID',
      member: 'identifier',
      otherwise: null,
      help: 'Security or series of the finding. Default: every finding.',
    },
  },
  examples: ['divisor schedule waive close 2024-12-31 moves --security AAPL --reason "Results were published"'],
  records: (day) => [toDayRow(day)],
  columns: DAY_COLUMNS,
});

const backfillSchedule = createOperationView({
  operation: 'backfillSchedule',
  summary: 'Perform the days of a range of sessions, oldest first.',
  words: [
    SCHEDULE,
    { name: 'START', help: 'First session.', member: 'start' },
    { name: 'END', help: 'Last session.', member: 'end' },
  ],
  flags: { reason: { ...REASON.reason, otherwise: null } },
  examples: ['divisor schedule backfill close 2024-12-01 2024-12-31'],
  records: ({ dates }) => dates.map((date) => ({ date })),
});

const judgements = createOperationView({
  operation: 'listJudgements',
  summary: 'List the decisions of people about the days of a schedule, with their reasons.',
  words: [SCHEDULE],
  fixed: { limit: 1000 },
  examples: ['divisor schedule judgements close'],
  records: (result) => result.judgements,
  columns: ['seq', 'at', 'author', 'action', 'date', 'index_id', 'check', 'identifier', 'reason'],
});

const publishedErrors = createOperationView({
  operation: 'listPublishedErrors',
  summary: 'List the register of errors in published closes of an index.',
  words: [{ name: 'INDEX', help: 'Id of a stored index.' }],
  fixed: { limit: 1000 },
  examples: ['divisor publication errors CORE-100'],
  records: ({ errors }) => errors,
  columns: ['seq', 'at', 'author', 'decision', 'first', 'last', 'dates', 'restated', 'notice'],
});

export const SCHEDULE_COMMANDS = {
  'schedule list': schedules,
  'schedule put': putSchedule,
  'schedule show': showSchedule,
  'schedule status': scheduleStatus,
  'schedule run': runSchedule,
  'schedule skip': skipSchedule,
  'schedule waive': waiveSchedule,
  'schedule backfill': backfillSchedule,
  'schedule judgements': judgements,
  'client list': clients,
  'client show': showClient,
  'client put': putClient,
  'client deliveries': deliveries,
};

export const PUBLISH_COMMANDS = {
  publish,
};

export const PUBLICATION_COMMANDS = {
  'publication errors': publishedErrors,
  'publication keys': publishedKeys,
  'publication rotate': rotateKey,
};
