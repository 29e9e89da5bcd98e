import type { ListedSchedule, ScheduleDays, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Entries, type Entry } from '../../components/entries.js';
import { GuideLink } from '../../components/guide-link.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress, formatScheduleAddress } from '../../words/addresses.js';
import { formatMoment, createMomentFigure, formatWeekday } from '../../words/dates.js';
import { formatCount, MISSING_TEXT } from '../../words/numbers.js';
import { DayHistory } from './day-history.js';
import { isBlocked, findOwnReason, describeDay, type StateLabel } from './day-states.js';
import { stepWords } from './step-words.js';
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

/** Number of latest days of each schedule that are searched for open days. */
const EXAMINED_DAYS = 20;

/** Page of all schedules with their latest and next days. Each schedule opens to its days. */
export function SchedulesPage() {
  const overview = useResource('schedules', loadOverview);
  return (
    <Page
      title="Schedules"
      subtitle={<GuideLink page="schedules">How schedules work</GuideLink>}
      actions={<NewSchedule />}
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
    const open = days.filter(({ state }) => state === 'blocked' || state === 'waiting' || state === 'missed');
    return { schedule, days, latest: days[0] ?? null, next, open };
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
      A schedule is the daily plan of an index family: after each session it refreshes the data, computes, checks,
      publishes and delivers the indices.
    </EmptyState>
  );
}

function ScheduleTable({ rows }: { readonly rows: readonly Overview[] }) {
  const open = rows.flatMap((row) => row.open.map((day) => ({ row, day }))).toSorted(compareOpen);
  return (
    <>
      <Sums rows={rows} />
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
      {open.length > 0 && (
        <Section title="Open days" aside={`of the last ${EXAMINED_DAYS} of each schedule, decisions first`}>
          <Entries label="Open days" entries={open.slice(0, OPEN_MAX).map(openEntry)} />
        </Section>
      )}
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

/**
 * Sorts days: days that need a decision first, then by date in ascending order, because later days wait for earlier
 * days.
 */
const compareOpen = (a: OpenDay, b: OpenDay): number =>
  Number(isBlocked(b.day)) - Number(isBlocked(a.day)) || (a.day.date < b.day.date ? -1 : 1);

/** Schedules with a displayed history; schedules with open days are first. */
const HISTORIES_MAX = 4;

function Sums({ rows }: { readonly rows: readonly Overview[] }) {
  const open = rows.flatMap(({ open: days }) => days);
  const countDays = (state: string) => open.filter((day) => describeDay(day).text === state).length;
  const blocked = open.filter(isBlocked).length;
  const due = rows.flatMap(({ next }) => (next === null ? [] : [next.due_at])).toSorted()[0];
  const enabled = rows.filter(({ schedule }) => schedule.enabled).length;
  const begin = due === undefined ? { value: MISSING_TEXT, note: 'no schedule is enabled' } : createMomentFigure(due);
  return (
    <Metrics
      label="Days of all schedules"
      metrics={[
        { term: 'Schedules', value: formatCount(rows.length), note: `${enabled} enabled` },
        {
          term: 'Blocked days',
          value: formatCount(blocked),
          kind: blocked > 0 ? 'down' : '',
          note: blocked === 0 ? `of the last ${EXAMINED_DAYS}` : blocked === 1 ? 'needs a decision' : 'need a decision',
        },
        { term: 'Held back days', value: formatCount(countDays('held back')), note: 'wait for an earlier day' },
        {
          term: 'Waiting days',
          value: formatCount(countDays('waiting') + countDays('awaits approval')),
          note: `${formatCount(countDays('awaits approval'))} for approval`,
        },
        { term: 'Missed days', value: formatCount(countDays('missed')), kind: countDays('missed') > 0 ? 'down' : '' },
        { term: 'Next day begins', ...begin },
      ]}
    />
  );
}

/** Maximum number of open days listed. */
const OPEN_MAX = 12;

interface OpenDay {
  readonly row: Overview;
  readonly day: ScheduleDaySummary;
}

const StateBadge = ({ text, kind }: StateLabel) => <Badge kind={kind}>{text}</Badge>;

const openEntry = ({ row: { schedule }, day }: OpenDay): Entry => {
  const { schedule_id: id, name } = schedule;
  const address = formatAddress(formatScheduleAddress(id), { day: day.date });
  return {
    key: `${id} ${day.date}`,
    title: (
      <a href={address}>
        {name}, {day.date}
      </a>
    ),
    badge: <StateBadge {...describeDay(day)} />,
    aside: isBlocked(day) ? (
      <LinkButton kind="main" href={address}>
        Decide
      </LinkButton>
    ) : (
      ''
    ),
    text: <Reasons day={day} />,
  };
};

/** Renders the reasons why a day is open: the reason of the day and the reasons of the indices that it blocks. */
function Reasons({ day }: { readonly day: ScheduleDaySummary }) {
  const ownReason = findOwnReason(day);
  const earlier = day.held.filter(({ since }) => since < day.date);
  return (
    <>
      {ownReason !== null && <p>{ownReason}</p>}
      {earlier.length > 0 && (
        <p>
          {earlier.map(({ index_id: index }) => index).join(', ')} held back since {earlier[0]!.since}.
        </p>
      )}
      {day.held.length > earlier.length && (
        <ul>
          {day.held
            .filter(({ since }) => since === day.date)
            .map(({ index_id: index, step, reason }) => (
              <li key={index}>
                <a href={formatIndexAddress(index)}>{index}</a>, {stepWords(step).toLowerCase()}: {reason}
              </li>
            ))}
        </ul>
      )}
    </>
  );
}

const COLUMNS: readonly Column<Overview>[] = [
  {
    id: 'name',
    title: 'Schedule',
    width: 150,
    ideal: 230,
    grow: 3,
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
    width: 110,
    priority: 3,
    value: ({ schedule }) => (schedule.enabled ? schedule.at : 'by hand'),
    show: ({ schedule: { enabled, at, calendar } }) =>
      enabled ? (
        `${at}, ${calendar}`
      ) : (
        <Badge title="No new day begins; days that have begun are continued">disabled</Badge>
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
    grow: 4,
    priority: 6,
    value: ({ schedule: { steps } }) => steps.map(({ type }) => stepWords(type)).join(' → '),
    show: ({ schedule: { steps } }) => {
      const text = steps.map(({ type }) => stepWords(type)).join(' → ');
      return <span title={text}>{text}</span>;
    },
  },
];
