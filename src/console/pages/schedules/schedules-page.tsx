import type { Schedule, ScheduleDays, ScheduleDaySummary } from '#clients/typescript/divisor.js';
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
import { addressOf } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress, scheduleAddress } from '../../words/addresses.js';
import { moment, weekday } from '../../words/dates.js';
import { count, countValues, NONE } from '../../words/numbers.js';
import { INDEX_STATES, indexStates, isBlocked, shownDay, type IndexState, type ShownState } from './day-states.js';
import { stepWords } from './step-words.js';

/** A schedule with its latest day and its next day. */
interface Overview {
  readonly schedule: Schedule;
  readonly latest: ScheduleDaySummary | null;
  readonly next: ScheduleDays['next'];
  /** Latest days that are blocked, waiting or missed. */
  readonly open: readonly ScheduleDaySummary[];
}

/** Number of latest days of each schedule that are searched for open days. */
const EXAMINED = 20;

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
        {(rows) => (rows.length === 0 ? <NoSchedule /> : <All rows={rows} />)}
      </Answered>
    </Page>
  );
}

async function loadOverview(signal: AbortSignal): Promise<readonly Overview[]> {
  const { schedules } = await service.value.call('listSchedules', { signal });
  return Promise.all(
    schedules.map(async (schedule) => {
      const params = { schedule_id: schedule.schedule_id };
      const query = { limit: EXAMINED };
      const { days, next } = await service.value.call('listScheduleDays', { params, query, signal });
      const open = days.filter(({ state }) => state === 'blocked' || state === 'waiting' || state === 'missed');
      return { schedule, latest: days[0] ?? null, next, open };
    }),
  );
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

function All({ rows }: { readonly rows: readonly Overview[] }) {
  const open = rows.flatMap(({ open: days }) => days);
  const countOf = (state: string) => open.filter((day) => shownDay(day).text === state).length;
  const blocked = open.filter(isBlocked).length;
  const indices = rows.flatMap(latestIndices);
  const due = rows.flatMap(({ next }) => (next === null ? [] : [next.due_at])).toSorted()[0];
  const enabled = rows.filter(({ schedule }) => schedule.enabled).length;
  return (
    <>
      <Metrics
        label="Days of all schedules"
        metrics={[
          { term: 'Schedules', value: count(rows.length), note: `${enabled} enabled` },
          {
            term: 'Blocked days',
            value: count(blocked),
            kind: blocked > 0 ? 'down' : '',
            note: blocked > 0 ? 'need a decision' : `of the last ${EXAMINED}`,
          },
          { term: 'Await approval', value: count(countOf('awaits approval')), note: 'resume once it is given' },
          { term: 'Waiting days', value: count(countOf('waiting')), note: 'resume automatically' },
          { term: 'Missed days', value: count(countOf('missed')), kind: countOf('missed') > 0 ? 'down' : '' },
          { term: 'Next day begins', value: due === undefined ? NONE : moment(due) },
        ]}
      />
      <Table
        label="schedules"
        name="schedules"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ schedule }) => schedule.schedule_id}
        addressOf={({ schedule }) => scheduleAddress(schedule.schedule_id)}
        searchIn={({ schedule: { schedule_id: id, name, indices } }) => `${id} ${name} ${indices.join(' ')}`}
        height={620}
      />
      {indices.length > 0 && (
        <Section title="Indices" aside="on the latest day of their schedule">
          <Table
            label="indices on their latest day"
            name="states"
            columns={INDEX_COLUMNS}
            rows={indices}
            keyOf={({ schedule, index }) => `${schedule} ${index}`}
            addressOf={({ schedule, date }) => addressOf(scheduleAddress(schedule), { day: date })}
            searchIn={({ schedule, index, reason }) => `${index} ${schedule} ${reason}`}
            height={420}
          />
        </Section>
      )}
      {open.length > 0 && (
        <Section title="Open days" aside={`of the last ${EXAMINED} of each schedule`}>
          <Entries label="Open days" entries={rows.flatMap(openEntries).slice(0, OPEN_MAX)} />
        </Section>
      )}
    </>
  );
}

/** Maximum number of open days listed. */
const OPEN_MAX = 12;

/** An index on the latest day of its schedule. */
interface LatestIndex extends IndexState {
  readonly schedule: string;
  readonly date: string;
}

const latestIndices = ({ schedule: { schedule_id: schedule, indices }, latest }: Overview): readonly LatestIndex[] =>
  latest === null ? [] : indexStates(latest, indices).map((index) => ({ ...index, schedule, date: latest.date }));

const StateBadge = ({ text, kind }: ShownState) => <Badge kind={kind}>{text}</Badge>;

const INDEX_COLUMNS: readonly Column<LatestIndex>[] = [
  {
    id: 'index',
    title: 'Index',
    width: 120,
    grow: 1,
    value: ({ index }) => index,
    show: ({ index }) => <a href={indexAddress(index)}>{index}</a>,
  },
  {
    id: 'state',
    title: 'State',
    width: 120,
    value: ({ state }) => state,
    show: ({ state }) => <StateBadge {...INDEX_STATES[state]} />,
  },
  { id: 'date', title: 'Session', width: 104, priority: 3, value: ({ date }) => date },
  { id: 'step', title: 'Step', width: 110, priority: 4, value: ({ step }) => (step === '' ? '' : stepWords(step)) },
  {
    id: 'reason',
    title: 'Reason',
    width: 180,
    grow: 3,
    priority: 2,
    value: ({ reason }) => reason,
    show: ({ reason }) => <span title={reason}>{reason}</span>,
  },
  { id: 'schedule', title: 'Schedule', width: 110, priority: 5, value: ({ schedule }) => schedule },
];

const openEntries = ({ schedule: { schedule_id: id, name }, open }: Overview): readonly Entry[] =>
  open.map(({ date, reason, held, ...day }) => ({
    key: `${id} ${date}`,
    title: (
      <a href={addressOf(scheduleAddress(id), { day: date })}>
        {name}, {date}
      </a>
    ),
    badge: <StateBadge {...shownDay({ ...day, reason, held })} />,
    aside: held.length === 0 ? '' : `${countValues(held.length, 'index', 'indices')} held back`,
    text: reason ?? '',
  }));

const COLUMNS: readonly Column<Overview>[] = [
  {
    id: 'name',
    title: 'Schedule',
    width: 150,
    grow: 2,
    value: ({ schedule }) => schedule.name,
    show: ({ schedule: { name, schedule_id: id } }) => (
      <>
        <strong>{name}</strong> <span class="quiet">{id}</span>
      </>
    ),
  },
  {
    id: 'enabled',
    title: 'Begins',
    width: 130,
    priority: 3,
    value: ({ schedule }) => (schedule.enabled ? schedule.at : 'by hand'),
    show: ({ schedule: { enabled, at, calendar } }) =>
      enabled ? `${at}, ${calendar}` : <Badge title="No day begins automatically">disabled</Badge>,
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
          {latest.date} <StateBadge {...shownDay(latest)} />
        </>
      ),
  },
  {
    id: 'held',
    title: 'Held back',
    help: 'Indices that the latest day holds back',
    width: 84,
    align: 'right',
    priority: 4,
    value: ({ latest }) => latest?.held.length ?? 0,
  },
  {
    id: 'reason',
    title: 'Reason',
    width: 180,
    grow: 3,
    priority: 5,
    value: ({ latest }) => latest?.reason ?? '',
    show: ({ latest }) => <span title={latest?.reason ?? ''}>{latest?.reason ?? ''}</span>,
  },
  {
    id: 'next',
    title: 'Next day begins',
    width: 190,
    priority: 3,
    value: ({ next }) => next?.due_at ?? '',
    show: ({ next }) => (next === null ? NONE : `${weekday(next.date)} ${moment(next.due_at)}`),
  },
  {
    id: 'of',
    title: 'Performs',
    width: 150,
    grow: 2,
    priority: 6,
    value: ({ schedule }) => schedule.indices.length,
    show: ({ schedule: { indices, steps } }) => {
      const text = `${countValues(indices.length, 'index', 'indices')}: ${steps.map(({ type }) => stepWords(type)).join(', ')}`;
      return <span title={text}>{text}</span>;
    },
  },
];
