import type { Schedule, ScheduleDays, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Facts } from '../../components/facts.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { WeekdayDate } from '../../components/weekday-date.js';
import type { PageProps } from '../../state/page-props.js';
import { getParameter, setParameters } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useCalendars } from '../../state/exchanges.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { computeSecondsBetween, formatMoment } from '../../words/dates.js';
import { countValues, formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { DayHistory } from './day-history.js';
import { DayPanel } from './day-panel.js';
import { isBlocked, describeDay, describeDecisions } from './day-states.js';
import { OpenDays } from './open-days.js';
import { stepWords } from './step-words.js';
import { listDayRequests, useWaiverRequests } from './waiver-requests.js';
import type { WaiverRequest } from './day-states.js';
import './schedules.css';

/** Page of the days of a schedule. Each day opens to its indices, steps and deliveries. */
export function DaysPage({ params }: PageProps) {
  const id = params['id']!; // the route has this parameter
  const schedule = useResource(`schedule plan ${id}`, (signal) =>
    service.value.call('getSchedulePlan', { params: { schedule_id: id }, signal }),
  );
  return (
    <Page
      title={schedule.data?.name ?? id}
      above={[{ address: '/console/schedules', text: 'Schedules' }]}
      subtitle={
        schedule.data && (
          <>
            <code>{id}</code>
            {schedule.data.enabled ? <Badge kind="good">enabled</Badge> : <Badge>disabled: no new day begins</Badge>}
          </>
        )
      }
      actions={may('write') && <LinkButton href={`${formatScheduleAddress(id)}/edit`}>Edit</LinkButton>}
    >
      <Answered resource={schedule} what="the schedule">
        {(plan) => <Days key={id} schedule={plan} />}
      </Answered>
    </Page>
  );
}

const LISTED_MAX = 260;

function Days({ schedule }: { readonly schedule: Schedule }) {
  const { schedule_id: id } = schedule;
  const openDay = getParameter('day');
  const requests = useWaiverRequests();
  const days = useResource(`days ${id}`, (signal) =>
    service.value.call('listScheduleDays', { params: { schedule_id: id }, query: { limit: LISTED_MAX }, signal }),
  );
  return (
    <>
      <Answered resource={days} what="the days">
        {({ days: rows, next }) => (
          <>
            <Summary schedule={schedule} rows={rows} next={next} requests={requests} />
            <OpenDays days={rows} requests={requests} />
            <Plan schedule={schedule} />
            <DayHistory schedule={schedule} days={rows} />
            <Section title="Days">
              <Table
                label="days"
                name="days"
                columns={COLUMNS.filter(({ id, value }) => !RARE_COLUMNS.has(id) || rows.some((day) => value(day)))}
                rows={rows}
                getKey={({ date }) => date}
                searchIn={({ date, reason }) => `${date} ${reason ?? ''}`}
                sort={{ column: 'date', direction: 'desc' }}
                onOpen={({ date }) => setParameters({ day: date })}
                openKey={openDay}
                height={620}
                empty="No day yet. The first one begins after its session if the schedule is enabled."
              />
            </Section>
          </>
        )}
      </Answered>
      {openDay !== null && (
        <DayPanel key={openDay} schedule={schedule} date={openDay} onClose={() => setParameters({ day: null })} />
      )}
    </>
  );
}

interface SummaryProps {
  readonly schedule: Schedule;
  readonly rows: readonly ScheduleDaySummary[];
  readonly next: ScheduleDays['next'];
  readonly requests: readonly WaiverRequest[];
}

function Summary({ schedule, rows, next, requests }: SummaryProps) {
  const countDays = (state: string) => rows.filter((day) => describeDay(day).text === state).length;
  const blockedCount = rows.filter(isBlocked).length;
  const late = rows.filter((day) => day.is_late).length;
  const hasDeadline = schedule.deadline_minutes !== null || rows.some((day) => day.deadline_at !== null);
  return (
    <Metrics
      label="Days of the schedule"
      metrics={[
        {
          term: 'Next day begins',
          value: next === null ? MISSING_TEXT : formatMoment(next.due_at),
          note: next?.date ?? (schedule.enabled ? 'no session is due' : 'the schedule is disabled'),
        },
        { term: 'Done', value: formatCount(countDays('done')), note: `of ${formatCount(rows.length)} days` },
        {
          term: 'Blocked',
          value: formatCount(blockedCount),
          kind: blockedCount > 0 ? 'down' : '',
          note:
            blockedCount === 0
              ? ''
              : describeDecisions(blockedCount, rows.flatMap((day) => listDayRequests(requests, day)).length),
        },
        {
          term: 'Waiting or held back',
          value: formatCount(countDays('waiting') + countDays('awaits approval') + countDays('held back')),
        },
        { term: 'Skipped or missed', value: formatCount(countDays('skipped') + countDays('missed')) },
        {
          term: 'Late',
          value: hasDeadline ? formatCount(late) : MISSING_TEXT,
          note: hasDeadline ? undefined : 'no deadline',
          help: 'Days that did not end before their deadline',
        },
      ]}
    />
  );
}

/** Renders a summary of the schedule: its start, its indices and its steps. */
function Plan({ schedule }: { readonly schedule: Schedule }) {
  const { at, calendar, day_offset: offset, time_zone: zone, indices, steps } = schedule;
  const calendars = useCalendars();
  const timeZone = zone ?? calendars.find(({ code }) => code === calendar)?.tz;
  const daysText = offset === 0 ? '' : offset === 1 ? ', the day after' : `, ${offset} days after`;
  return (
    <Facts
      facts={[
        [
          'Begins',
          `${at}${timeZone === undefined ? '' : ` ${timeZone}`}${daysText}, after each session of ${calendar}`,
        ],
        [
          'Indices',
          <span class="schedule-indices">
            {indices.map((id) => (
              <a key={id} href={formatIndexAddress(id)}>
                {id}
              </a>
            ))}
          </span>,
        ],
        ['Steps', steps.map(({ type }) => stepWords(type)).join(' → ')],
      ]}
    />
  );
}

const COLUMNS: readonly Column<ScheduleDaySummary>[] = [
  {
    id: 'date',
    title: 'Session',
    width: 132,
    value: ({ date }) => date,
    show: ({ date }) => <WeekdayDate date={date} />,
  },
  {
    id: 'state',
    title: 'State',
    width: 120,
    value: (day) => describeDay(day).text,
    show: (day) => <Badge kind={describeDay(day).kind}>{describeDay(day).text}</Badge>,
  },
  {
    id: 'held',
    title: 'Held back',
    help: 'Indices that are held back',
    width: 84,
    align: 'right',
    priority: 4,
    below: 'nothing',
    value: (row) => row.held.length,
  },
  {
    id: 'step',
    title: 'Open step',
    width: 112,
    priority: 3,
    // A blocked day may have completed its steps for all other indices.
    value: (day) => {
      const step = day.step ?? day.held[0]?.step;
      return step === undefined ? '' : stepWords(step);
    },
  },
  {
    id: 'reason',
    title: 'Reason',
    width: 200,
    grow: 3,
    priority: 2,
    value: ({ reason }) => reason ?? '',
    show: ({ reason }) => <span title={reason ?? ''}>{reason ?? ''}</span>,
  },
  {
    id: 'late',
    title: 'Late',
    width: 64,
    priority: 5,
    value: ({ is_late: isLate }) => (isLate ? 'late' : ''),
    show: ({ is_late: isLate }) => (isLate ? <Badge kind="warning">late</Badge> : ''),
  },
  {
    id: 'due',
    title: 'Due',
    width: 172,
    priority: 5,
    below: 'nothing',
    value: (row) => row.due_at,
    show: (row) => formatMoment(row.due_at),
  },
  {
    id: 'end',
    title: 'Ended',
    width: 172,
    ideal: 290,
    grow: 1,
    priority: 4,
    value: (row) => row.finished_at ?? '',
    show: (row) =>
      row.finished_at === null ? (
        '–'
      ) : (
        <>
          {formatMoment(row.finished_at)} <Delay due={row.due_at} end={row.finished_at} />
        </>
      ),
  },
];

/** Renders the delay of a day that ended more than one day after it was due. */
function Delay({ due, end }: { readonly due: string; readonly end: string }) {
  const delay = computeSecondsBetween(due, end);
  return delay < DAY_S ? null : (
    <span class="schedule-late">{countValues(Math.floor(delay / DAY_S), 'day')} after due</span>
  );
}

const DAY_S = 86_400;

/** Columns that are hidden if they are empty or zero for all days. */
const RARE_COLUMNS: ReadonlySet<string> = new Set(['held', 'step', 'reason', 'late']);
