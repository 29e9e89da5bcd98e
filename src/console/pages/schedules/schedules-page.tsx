import type { ListedSchedule, ScheduleDays, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { Answered, Badge, EmptyState } from '../../components/feedback.js';
import { LinkButton } from '../../components/controls/button.js';
import { GuideLink, Page } from '../../components/layout/page.js';
import { Metrics } from '../../components/layout/facts.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatAddress } from '../../state/location.js';
import { may, service, useResource } from '../../state/service.js';
import { formatScheduleAddress } from '../../words/addresses.js';
import { formatMoment, createMomentFigure, formatWeekday } from '../../words/dates.js';
import { formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { DayHistory, isOpenDay, listDayRequests, OpenDays, useWaiverRequests } from './open-days.js';
import { describeDay, describeDecisions, isBlocked, type StateLabel, type WaiverRequest } from './day-states.js';
import { stepWords } from './steps.js';
import './schedules.css';

/** A schedule with its latest day and its next day. */
interface Overview {
  readonly schedule: ListedSchedule;
  /** Latest days of the schedule, newest first. */
  readonly days: readonly ScheduleDaySummary[];
  readonly latest: ScheduleDaySummary | null;
  readonly next: ScheduleDays['next'];
  /** Latest days that are blocked, waiting or missed. */
  readonly open: readonly ScheduleDaySummary[];
}

/** Number of the latest days of each schedule among which open days are searched. */
const EXAMINED_DAYS = 20;

/** Page of all schedules with their latest and next days. A schedule opens to its days. */
export function SchedulesPage() {
  const overview = useResource('overview of schedules', loadOverview);
  return (
    <Page
      title="Schedules"
      subtitle={<GuideLink page="schedules">How schedules work</GuideLink>}
      actions={overview.data !== undefined && overview.data.length > 0 && <NewSchedule />}
    >
      <Answered resource={overview} what="the schedules">
        {(rows) => (rows.length === 0 ? <NoSchedule /> : <ScheduleTable rows={rows} />)}
      </Answered>
    </Page>
  );
}

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

function NoSchedule() {
  return (
    <EmptyState title="No schedule yet" action={<NewSchedule />}>
      A schedule is the daily plan of an index family: after each session it runs, checks and publishes the indices. It
      can refresh the data before, and deliver files and reports after.
    </EmptyState>
  );
}

function ScheduleTable({ rows }: { readonly rows: readonly Overview[] }) {
  const requests = useWaiverRequests();
  const names = new Map(rows.map(({ schedule }) => [schedule.schedule_id, schedule.name]));
  return (
    <>
      <Sums rows={rows} requests={requests} />
      <Table
        label="schedules"
        name="schedules"
        columns={COLUMNS}
        rows={rows}
        getKey={({ schedule }) => schedule.schedule_id}
        formatAddress={({ schedule }) => formatScheduleAddress(schedule.schedule_id)}
        searchIn={({ schedule: { schedule_id: id, name, indices } }) => `${id} ${name} ${indices.join(' ')}`}
        height={620}
      />
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

interface SumsProps {
  readonly rows: readonly Overview[];
  readonly requests: readonly WaiverRequest[];
}

function Sums({ rows, requests }: SumsProps) {
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
