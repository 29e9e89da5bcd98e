import './schedules.css';
import type {
  Finding,
  ListedSchedule,
  ScheduleDays as ListedDays,
  ScheduleDaySummary,
} from '#clients/typescript/divisor.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { DocumentEditor, type EditedDocument, type EditedKind, IdField } from '../../components/editor.js';
import { Badge } from '../../components/feedback.js';
import { KindList, listRows } from '../../components/form/row-list.js';
import { SchemaForm, type Schemas, useSchemas } from '../../components/form/schema-form.js';
import { Metrics } from '../../components/layout/facts.js';
import { GuideLink, Section } from '../../components/layout/page.js';
import { ReadOnly } from '../../components/permission.js';
import { createRegisterPage } from '../../components/register.js';
import type { Column } from '../../components/table/model.js';
import { formatAddress, getParameter, type PageProps } from '../../state/location.js';
import { useCalendars } from '../../state/market.js';
import { may, service, useList, useResource } from '../../state/service.js';
import { formatScheduleAddress } from '../../words/addresses.js';
import { createMomentFigure, formatMoment, formatWeekday } from '../../words/dates.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import type { JsonObject } from '../../words/paths.js';
import { describeDay, describeDecisions, isBlocked, type StateLabel } from './day-states.js';
import { DayHistory, isOpenDay, listDayRequests, OpenDays, useWaiverRequests } from './open-days.js';
import { CHECK_WORDS, stepWords } from './steps.js';

interface ScheduleSentenceProps {
  readonly document: JsonObject;
  /** Time zone of the schedule; undefined until it is known. */
  readonly zone: string | undefined;
}

/** Renders the steps of a schedule, the begin of its days, and the effect of enabling it. */
function ScheduleSentence({ document, zone = '' }: ScheduleSentenceProps) {
  const schemas = useSchemas();
  const { indices, calendar, at, enabled } = document;
  const caughtUp = document['catch_up'] ?? schemas.data?.['ScheduleBody']?.properties?.['catch_up']?.default;
  if (caughtUp === undefined) return null;
  const count = Array.isArray(indices) ? indices.length : 0;
  const steps = listRows(document['steps']).map(({ type }) => stepWords(String(type)));
  const sessions = `up to ${countValues(Number(caughtUp), 'missed session')}`;
  return (
    <p>
      {count === 0 ? 'No index yet' : countValues(count, 'index', 'indices')}, at {String(at)} {zone} after each session
      of {String(calendar)}: {steps.join(' → ')}.{' '}
      {enabled === true
        ? `Days begin by themselves; after an outage, ${sessions} run.`
        : `Does not run until it is enabled. Once enabled, ${sessions} since its first session run first.`}
    </p>
  );
}

interface StepListProps {
  readonly steps: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(steps: readonly JsonObject[]): void;
}

/** Renders the steps of a schedule in order. Each has the form of its type. */
function StepList({ steps, findings, onChange }: StepListProps) {
  return (
    <KindList
      what="step"
      rows={steps}
      member="type"
      formatName={stepWords}
      selectSchema={stepSchema}
      path={['steps']}
      findings={findings}
      hidden={() => ['files']}
      rare={RARE_FIELDS}
      listFieldChanges={() => FIELD_CHANGES}
      more={(step, at, put) =>
        step['type'] === 'export' && (
          <Files
            at={at}
            files={listRows(step['files'])}
            findings={findings}
            onChange={(files) => put({ ...step, files })}
          />
        )
      }
      fresh={(type) => (type === 'export' ? { files: [{ table: 'closing' }] } : {})}
      onChange={onChange}
    />
  );
}

/** Members that only few schedules need. */
const RARE_FIELDS = ['fail_on', 'allow_partial', 'indices', 'clients'];

const FIELD_CHANGES = { errors: { label: 'Error policy' }, checks: { words: CHECK_WORDS } };

const stepSchema = (schemas: Schemas) => schemas['ScheduleBody']?.properties?.['steps']?.items ?? {};

interface FilesProps {
  /** Position of the step in the schedule. */
  readonly at: number;
  readonly files: readonly JsonObject[];
  readonly findings: readonly Finding[];
  onChange(files: readonly JsonObject[]): void;
}

/** Renders the form of the files that a step writes for each index. */
function Files({ at, files, findings, onChange }: FilesProps) {
  const renderFileForm = (names: readonly string[], file: JsonObject, k: number) => (
    <SchemaForm
      schema="ExportedFileInput"
      names={names}
      value={file}
      findings={findings}
      path={['steps', at, 'files', k]}
      onChange={(next) => onChange(files.map((own, i) => (i === k ? next : own)))}
    />
  );
  return (
    <>
      {files.map((file, k) => (
        <div key={k} class="pile gap-2 field-row" role="group" aria-label={`File ${k + 1} of step ${at + 1}`}>
          <div>
            {renderFileForm(['table', 'format', 'name'], file, k)}
            <details class="row-more">
              <summary>More settings</summary>
              {renderFileForm(['indices', 'by', 'from_start', 'optional'], file, k)}
            </details>
          </div>
          <Button
            kind="bare"
            aria-label={`Remove file ${k + 1} of step ${at + 1}`}
            onClick={() => onChange(files.filter((_, i) => i !== k))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <div>
        <Button onClick={() => onChange([...files, { table: 'closing' }])}>
          <Icon name="plus" /> Add a file
        </Button>
      </div>
    </>
  );
}

const SCHEDULES: EditedKind = {
  kind: 'schedule',
  reads: 'getSchedulePlan',
  derived: ['updated_at'],
  list: '/console/schedules',
  formatAddress: formatScheduleAddress,
};

/** Page of a schedule's plan: its indices, time and steps. */
export function SchedulePage({ params }: PageProps) {
  const id = params['id'] ?? null;
  const [index, template] = [getParameter('index'), getParameter('template')];
  return (
    <DocumentEditor
      of={SCHEDULES}
      id={id}
      origin={[index, template]}
      create={(signal) => createSchedule({ index, template }, signal)}
    >
      {({ document }) => ({
        ...(id !== null && { title: `Edit ${id}` }),
        subject: String(document['name']),
        above: [
          { address: '/console/schedules', text: 'Schedules' },
          ...(id === null ? [] : [{ address: formatScheduleAddress(id), text: String(document['name']) }]),
        ],
        required: ['indices'],
        children: (edited) => (
          <ReadOnly unless="write">
            <Form edited={edited} isStored={id !== null} />
          </ReadOnly>
        ),
      })}
    </DocumentEditor>
  );
}

interface Beginning {
  /** Index of the schedule. */
  readonly index: string | null;
  /** Report template that the schedule renders. */
  readonly template: string | null;
}

/**
 * Returns a new schedule that runs and publishes indices, or renders a report of them. It is disabled until a user
 * enables it.
 */
async function createSchedule({ index, template }: Beginning, signal: AbortSignal): Promise<JsonObject> {
  const { indices } = await service.value.call('listIndices', { signal });
  const first = indices.find(({ id }) => id === index);
  return {
    schedule_id: '',
    name: '',
    enabled: false,
    indices: first === undefined ? [] : [first.id],
    calendar: (first ?? indices[0])?.calendar ?? 'XNYS',
    at: '18:30',
    steps: [
      { type: 'run' },
      { type: 'checks' },
      template === null ? { type: 'publish' } : { type: 'render', template_id: template },
    ],
  };
}

/** Maximum number of indices that are shown as choices. If there are more, ids are typed. */
const CHOICES_MAX = 40;
const FIRST_FIELDS = ['calendar', 'at', 'enabled', 'starts_on', 'indices'];
const OTHER_FIELDS = [
  'description',
  'time_zone',
  'day_offset',
  'deadline_minutes',
  'retry_minutes',
  'catch_up',
  'on_failure',
  'keep_files_days',
];

function Form({ edited, isStored }: { readonly edited: EditedDocument; readonly isStored: boolean }) {
  const { document, findings, set } = edited;
  const indices = useList('indices');
  const ids = (indices.data?.indices ?? []).map(({ id }) => id);
  const exchanges = useCalendars();
  const zone = document['time_zone'] ?? exchanges.find(({ code }) => code === document['calendar'])?.tz;
  const renderFields = (names: readonly string[]) => (
    <SchemaForm
      schema="ScheduleBody"
      names={names}
      changes={{
        indices: ids.length <= CHOICES_MAX ? { kind: 'choices', choices: ids, isWide: true } : {},
        calendar: {
          kind: 'choice',
          choices: exchanges.map(({ code }) => code),
          words: Object.fromEntries(exchanges.map(({ code, name }) => [code, `${code} ${name}`])),
          isDouble: true,
        },
        at: {
          label: 'Begins at',
          help: `Time of day${typeof zone === 'string' ? ` in ${zone}` : ''}, for example 18:30.`,
        },
        enabled: { help: 'Days start automatically.' },
        starts_on: { label: 'First session', help: 'Default: the next one once the schedule is stored.' },
      }}
      value={document}
      findings={findings}
      onChange={set}
    />
  );
  return (
    <>
      <ScheduleSentence document={document} zone={typeof zone === 'string' ? zone : undefined} />
      <div class="form-card">
        <div class="pile field-grid is-joined">
          {renderFields(['name'])}
          <IdField edited={edited} member="schedule_id" isFixed={isStored} />
          {renderFields(FIRST_FIELDS)}
        </div>
        <details>
          <summary>Description, time zone, deadline, retries and files</summary>
          {renderFields(OTHER_FIELDS)}
        </details>
      </div>
      <Section title="Steps of a day" aside="performed from top to bottom">
        <StepList
          steps={listRows(document['steps'])}
          findings={findings}
          onChange={(steps) => set({ ...document, steps })}
        />
      </Section>
    </>
  );
}

/** A schedule with its latest day and its next day. */
interface Overview {
  readonly schedule: ListedSchedule;
  /** Latest days of the schedule, newest first. */
  readonly days: readonly ScheduleDaySummary[];
  readonly latest: ScheduleDaySummary | null;
  readonly next: ListedDays['next'];
  /** Latest days that are blocked, waiting or missed. */
  readonly open: readonly ScheduleDaySummary[];
}

/** Number of the latest days of each schedule among which open days are searched. */
const EXAMINED_DAYS = 20;

async function loadOverview(signal: AbortSignal): Promise<readonly Overview[]> {
  const { schedules } = await service.value.call('listSchedules', { query: { days: EXAMINED_DAYS }, signal });
  return schedules.map((schedule) => {
    const { days = [], next = null } = schedule.latest ?? {};
    return { schedule, days, latest: days[0] ?? null, next, open: days.filter(isOpenDay) };
  });
}

const NewSchedule = () =>
  may('write') ? (
    <LinkButton kind="main" href="/console/schedules/new">
      New schedule
    </LinkButton>
  ) : null;

/** Renders the open days of all schedules, and the latest days of some. */
function ScheduleDays({ rows }: { readonly rows: readonly Overview[] }) {
  const requests = useWaiverRequests();
  const names = new Map(rows.map(({ schedule }) => [schedule.schedule_id, schedule.name]));
  return (
    <>
      <OpenDays
        days={rows.flatMap(({ open }) => open)}
        requests={requests}
        aside={`of the last ${EXAMINED_DAYS} of each schedule, decisions first`}
        formatTitle={({ schedule_id: id, date }) => `${names.get(id)}, ${date}`}
      />
      {rows
        .filter(({ days }) => days.length > 0)
        .toSorted((a, b) => Number(b.open.length > 0) - Number(a.open.length > 0))
        .slice(0, HISTORIES_MAX)
        .map(({ schedule, days }) => (
          <DayHistory
            key={schedule.schedule_id}
            title={`Indices of ${schedule.name}`}
            schedule={schedule}
            days={days}
            formatAddress={(date) => formatAddress(formatScheduleAddress(schedule.schedule_id), { day: date })}
          />
        ))}
    </>
  );
}

/** Maximum number of schedules whose history is shown. Schedules with open days come first. */
const HISTORIES_MAX = 4;

function Sums({ rows }: { readonly rows: readonly Overview[] }) {
  const requests = useWaiverRequests();
  const openDays = rows.flatMap(({ open: days }) => days);
  const countDays = (state: string) => openDays.filter((day) => describeDay(day).text === state).length;
  const blockedCount = openDays.filter(isBlocked).length;
  const due = rows.flatMap(({ next }) => (next === null ? [] : [next.due_at])).toSorted()[0];
  const enabledCount = rows.filter(({ schedule }) => schedule.enabled).length;
  const begin = due === undefined ? { value: MISSING_TEXT, note: 'no schedule is enabled' } : createMomentFigure(due);
  return (
    <Metrics
      label="Days of all schedules"
      metrics={[
        {
          term: 'Schedules',
          value: formatCount(rows.length),
          note: enabledCount === 0 ? 'none is enabled' : `${enabledCount} enabled`,
          kind: enabledCount === 0 ? 'warning' : '',
        },
        {
          term: 'Blocked days',
          value: formatCount(blockedCount),
          kind: blockedCount > 0 ? 'down' : '',
          note:
            blockedCount === 0
              ? `of the last ${EXAMINED_DAYS}`
              : describeDecisions(blockedCount, openDays.flatMap((day) => listDayRequests(requests, day)).length),
        },
        { term: 'Held back days', value: formatCount(countDays('held back')), note: 'wait for an earlier day' },
        {
          term: 'Waiting days',
          value: formatCount(countDays('waiting') + countDays('awaits approval')),
          note:
            countDays('awaits approval') > 0 ? `${formatCount(countDays('awaits approval'))} for approval` : undefined,
        },
        { term: 'Missed days', value: formatCount(countDays('missed')), kind: countDays('missed') > 0 ? 'down' : '' },
        { term: 'Next day begins', ...begin },
      ]}
    />
  );
}

const StateBadge = ({ text, kind }: StateLabel) => <Badge kind={kind}>{text}</Badge>;

const COLUMNS: readonly Column<Overview>[] = [
  {
    id: 'name',
    title: 'Schedule',
    width: 150,
    ideal: 230,
    grow: 6,
    value: ({ schedule }) => schedule.name,
    show: ({ schedule: { name, schedule_id: id } }) => (
      <span title={`${name}, ${id}`}>
        <strong>{name}</strong> {name.toLowerCase() !== id.toLowerCase() && <span class="quiet">{id}</span>}
      </span>
    ),
  },
  {
    id: 'indices',
    title: 'Indices',
    width: 76,
    align: 'right',
    priority: 5,
    value: ({ schedule }) => schedule.indices.length,
  },
  {
    id: 'enabled',
    title: 'Begins',
    width: 180,
    priority: 3,
    value: ({ schedule }) => schedule.at,
    show: ({ schedule: { enabled, at, calendar } }) => (
      <>
        {at}, {calendar}{' '}
        {!enabled && <Badge title="No new day begins; days that have begun are continued">disabled</Badge>}
      </>
    ),
  },
  {
    id: 'latest',
    title: 'Latest day',
    width: 180,
    value: ({ latest }) => latest?.date ?? '',
    show: ({ latest }) =>
      latest === null ? (
        <span class="quiet">none yet</span>
      ) : (
        <>
          {latest.date} <StateBadge {...describeDay(latest)} />
        </>
      ),
  },
  {
    id: 'held',
    title: 'Indices held',
    help: 'Indices that the latest day holds back',
    width: 110,
    align: 'right',
    priority: 4,
    value: ({ latest }) => latest?.held.length ?? 0,
  },
  {
    id: 'next',
    title: 'Next day begins',
    width: 130,
    priority: 3,
    value: ({ next }) => next?.due_at ?? '',
    show: ({ next }) => (next === null ? MISSING_TEXT : `${formatWeekday(next.date)} ${formatMoment(next.due_at)}`),
  },
  {
    id: 'of',
    title: 'Steps',
    width: 150,
    grow: 6,
    priority: 6,
    value: ({ schedule: { steps } }) => steps.map(({ type }) => stepWords(type)).join(' → '),
    show: ({ schedule: { steps } }) => {
      const text = steps.map(({ type }) => stepWords(type)).join(' → ');
      return <span title={text}>{text}</span>;
    },
  },
];

/** Page of all schedules with their latest and next days. A schedule opens to its days. */
export const SchedulesPage = createRegisterPage<Overview>({
  title: 'Schedules',
  name: 'schedules',
  label: 'schedules',
  subtitle: () => <GuideLink page="schedules">How schedules work</GuideLink>,
  actions: (rows = []) => rows.length > 0 && <NewSchedule />,
  useRows: () => useResource('overview of schedules', loadOverview),
  columns: COLUMNS,
  empty: {
    title: 'No schedule yet',
    text: 'A schedule is the daily plan of an index family: after each session it runs, checks and publishes the indices. It can refresh the data before, and deliver files and reports after.',
    action: () => <NewSchedule />,
  },
  getKey: ({ schedule }) => schedule.schedule_id,
  formatAddress: ({ schedule }) => formatScheduleAddress(schedule.schedule_id),
  searchIn: ({ schedule: { schedule_id: id, name, indices } }) => `${id} ${name} ${indices.join(' ')}`,
  renderAbove: (rows) => rows.length > 0 && <Sums rows={rows} />,
  renderBelow: (rows) => rows.length > 0 && <ScheduleDays rows={rows} />,
});
