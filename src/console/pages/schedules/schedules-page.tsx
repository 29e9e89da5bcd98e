import type { Schedule, ScheduleDays, ScheduleDaySummary } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/badge.js';
import { LinkButton } from '../../components/button.js';
import { Select } from '../../components/choice.js';
import { EmptyState } from '../../components/empty-state.js';
import { Facts } from '../../components/facts.js';
import { GuideLink } from '../../components/guide-link.js';
import { Page } from '../../components/page.js';
import type { Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { Answered } from '../../components/wait.js';
import { parameter, setParameters } from '../../state/place.js';
import { may } from '../../state/principal.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress, scheduleAddress } from '../../words/addresses.js';
import { moment } from '../../words/dates.js';
import { DayPanel } from './day-panel.js';
import { DAY_KINDS } from './day-states.js';
import './schedules.css';

/** Days of a schedule; each opens to its indices, steps and deliveries. */
export function SchedulesPage() {
  const listed = useResource('schedules', (signal) => service.value.call('listSchedules', { signal }));
  return (
    <Answered resource={listed} what="the schedules">
      {({ schedules }) => <Days schedules={schedules} />}
    </Answered>
  );
}

function Days({ schedules }: { readonly schedules: readonly Schedule[] }) {
  const asked = parameter('schedule');
  const schedule = schedules.find(({ schedule_id: id }) => id === asked) ?? schedules[0];
  if (schedule === undefined)
    return (
      <Page title="Schedules">
        <EmptyState title="No schedule yet">
          A schedule is the daily plan of an index family: each session it computes, checks, publishes and delivers the
          indices. <GuideLink page="schedules">How schedules work</GuideLink>
          <p>
            <NewSchedule />
          </p>
        </EmptyState>
      </Page>
    );
  const choose = (id: string): void => setParameters({ schedule: id, day: null });
  return (
    <Page
      title="Schedules"
      subtitle={<GuideLink page="schedules">How schedules work</GuideLink>}
      actions={
        <>
          <Select
            label="Schedule"
            isLabelShown
            options={schedules.map(({ schedule_id: id, name }) => ({ value: id, text: `${id}: ${name}` }))}
            value={schedule.schedule_id}
            onChoose={choose}
          />
          {may('write') && <LinkButton href={scheduleAddress(schedule.schedule_id)}>Edit</LinkButton>}
          <NewSchedule />
        </>
      }
    >
      <DaysOf key={schedule.schedule_id} schedule={schedule} />
    </Page>
  );
}

const NewSchedule = () =>
  may('write') ? (
    <LinkButton kind="main" href="/console/schedules/new">
      New schedule
    </LinkButton>
  ) : null;

/** The plan in short: when it begins, of what, and its steps. */
function Plan({ schedule, next }: { readonly schedule: Schedule; readonly next: ScheduleDays['next'] }) {
  const { enabled, at, calendar, day_offset: offset, time_zone: zone, indices, steps } = schedule;
  const days = offset === 0 ? '' : offset === 1 ? ', the day after' : `, ${offset} days after`;
  return (
    <div class="schedule-plan">
      <Facts
        facts={[
          [
            'State',
            enabled ? <Badge kind="good">enabled</Badge> : <Badge>disabled: no day begins automatically</Badge>,
          ],
          ['Begins', `${at}${days}, after each session of ${calendar}${zone === null ? '' : ` (${zone})`}`],
          ...(next === null ? [] : ([['Next day', `${next.date}, ${moment(next.due_at)}`]] as const)),
          [
            'Indices',
            <>
              {indices.map((id) => (
                <>
                  <a href={indexAddress(id)}>{id}</a>{' '}
                </>
              ))}
            </>,
          ],
          ['Steps', steps.map(({ type }) => type).join(' → ')],
        ]}
      />
    </div>
  );
}

const LISTED = 260;

function DaysOf({ schedule }: { readonly schedule: Schedule }) {
  const { schedule_id: id } = schedule;
  const open = parameter('day');
  const days = useResource(`days ${id}`, (signal) =>
    service.value.call('listScheduleDays', { params: { schedule_id: id }, query: { limit: LISTED }, signal }),
  );
  return (
    <>
      <Answered resource={days} what="the days">
        {({ days: rows, next }) => (
          <>
            <Plan schedule={schedule} next={next} />
            <Table
              label="days"
              name="days"
              columns={COLUMNS}
              rows={rows}
              keyOf={({ date }) => date}
              searchIn={({ date, reason }) => `${date} ${reason ?? ''}`}
              sort={{ column: 'date', direction: 'desc' }}
              onOpen={({ date }) => setParameters({ day: date })}
              openKey={open}
              height={620}
              empty="No day yet. The first one begins after its session if the schedule is enabled."
            />
          </>
        )}
      </Answered>
      {open !== null && (
        <DayPanel key={open} schedule={schedule} date={open} onClose={() => setParameters({ day: null })} />
      )}
    </>
  );
}

const COLUMNS: readonly Column<ScheduleDaySummary>[] = [
  { id: 'date', title: 'Session', width: 108, value: ({ date }) => date },
  {
    id: 'state',
    title: 'State',
    width: 96,
    value: ({ state }) => state,
    show: ({ state }) => <Badge kind={DAY_KINDS[state]}>{state}</Badge>,
  },
  {
    id: 'held',
    title: 'Held',
    help: 'Indices that are held back',
    width: 64,
    align: 'right',
    value: (row) => row.held.length,
  },
  { id: 'step', title: 'Open step', width: 96, priority: 3, value: ({ step }) => step ?? '' },
  { id: 'reason', title: 'Reason', width: 220, grow: 3, priority: 2, value: ({ reason }) => reason ?? '' },
  {
    id: 'late',
    title: 'Late',
    width: 64,
    priority: 4,
    value: ({ is_late: isLate }) => (isLate ? 'late' : ''),
    show: ({ is_late: isLate }) => (isLate ? <Badge kind="warning">late</Badge> : ''),
  },
  {
    id: 'end',
    title: 'Ended',
    width: 172,
    priority: 4,
    value: (row) => row.finished_at ?? '',
    show: (row) => (row.finished_at === null ? '–' : moment(row.finished_at)),
  },
];
