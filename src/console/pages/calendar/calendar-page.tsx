import type { EventsView } from '#clients/typescript/divisor.js';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Button, LinkButton } from '../../components/button.js';
import { Choice, Select } from '../../components/choice.js';
import { Download } from '../../components/download.js';
import { Metrics } from '../../components/metrics.js';
import { Page, Section } from '../../components/page.js';
import { DateInput } from '../../components/range-bar.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Toggles } from '../../components/toggles.js';
import { Answered } from '../../components/wait.js';
import { WeekdayDate } from '../../components/weekday-date.js';
import { attempt } from '../../state/actions.js';
import { useExchanges } from '../../state/exchanges.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { useResource } from '../../state/resource.js';
import { hasKey, service } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatClosuresAddress, formatIndexAddress } from '../../words/addresses.js';
import { formatDaysTo, formatToday, subtractMonths } from '../../words/dates.js';
import { formatCount, countValues } from '../../words/numbers.js';
import { ComingDays } from './coming.js';
import { EventBadge } from './event-badge.js';
import { EVENT_COLOURS, EVENT_KINDS, formatEvent, formatKindName, type EventKind } from './event-kinds.js';
import { MonthGrid } from './month-grid.js';
import { groupNextEvents } from './next-events.js';
import './calendar.css';

/** Page of the events of all indices by date: announcements, effective dates, expiries, holidays and early closes. */
export function CalendarPage() {
  const kinds = EVENT_KINDS.filter((kind) => getParameter('kinds')?.split(',').includes(kind));
  const index = getParameter('index');
  const month = getParameter('month');
  const day = getParameter('day');
  const view = getParameter('view') === 'list' ? 'list' : 'month';
  const filter = { ...(kinds.length === 0 ? {} : { kinds }), ...(index === null ? {} : { index_ids: [index] }) };
  // The month view also needs the events from the first day of the month on.
  const query = {
    ...filter,
    from: findFirstDate(getParameter('from'), view === 'month' ? (month ?? formatToday().slice(0, 7)) : null),
  };
  const events = useResource(
    `events ${JSON.stringify(query)}`,
    (signal) => service.value.call('listEvents', { query, signal }),
    { keeps: true },
  );
  const exchanges = useExchanges();
  const file = formatAddress('/events', { kinds: kinds.join() || null, index_ids: index, format: 'ics' });
  return (
    <Page
      title="Calendar"
      subtitle={
        events.data &&
        (view === 'month'
          ? `${countValues(events.data.indices, 'index', 'indices')} and their exchanges`
          : `${events.data.from} to ${events.data.to}, of ${countValues(events.data.indices, 'index', 'indices')}`)
      }
      actions={
        <>
          <LinkButton href={formatClosuresAddress(findCalendar(events.data) ?? 'XNYS')}>Recorded closures</LinkButton>
          <Subscribe address={file} query={filter} />
        </>
      }
    >
      <Filters view={view} kinds={kinds} index={index} from={query.from} />
      <Answered resource={events} what="the events">
        {({ events: all, events_total: total, from: first, to: last }) => (
          <>
            {view === 'month' && <NextFigures events={all} />}
            {view === 'month' && (
              <div class="calendar-first">
                <MonthGrid month={month ?? first.slice(0, 7)} day={day} events={all} from={first} to={last} />
                <NextEvents events={all} first={first} />
              </div>
            )}
            {view === 'month' && (
              <Agenda month={month ?? first.slice(0, 7)} day={day} events={all} exchanges={exchanges} />
            )}
            {view === 'list' && (
              <Table
                label="events"
                name="events"
                columns={createColumns(exchanges)}
                rows={all}
                getKey={getKey}
                searchIn={({ date, kind, index_id: id, calendar, summary }) =>
                  `${date} ${kind} ${id ?? ''} ${calendar} ${summary}`
                }
                height={640}
                empty="No events in this range of dates."
              />
            )}
            {total > all.length && (
              <p class="quiet">
                The first {formatCount(all.length)} of {formatCount(total)}.
              </p>
            )}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Terms of the figures of the next events. */
const FIGURE_TERMS: Readonly<Record<EventKind, string>> = {
  announcement: 'Next announcement',
  effective: 'Next effective date',
  expiry: 'Next expiry',
  closure: 'Next closure',
  early_close: 'Next early close',
  holiday: 'Next holiday',
};

/** Renders the next event of each kind, the earliest first, and the days until then. */
function NextFigures({ events }: { readonly events: readonly Event[] }) {
  const today = formatToday();
  const metrics = groupNextEvents(events, today).map(([next, ...same]) => {
    const of =
      next.index_id === null
        ? [next, ...same].map(({ calendar }) => calendar).join(', ')
        : countValues(same.length + 1, 'index', 'indices');
    return {
      term: FIGURE_TERMS[next.kind],
      value: next.date,
      note: `${formatDaysTo(next.date, today)}, ${of}`,
      help: next.summary,
    };
  });
  return metrics.length === 0 ? null : <Metrics label="Next events by kind" metrics={metrics} />;
}

/** Number of entries in the list next to the month. Each entry has the events of one kind on one day. */
const NEXT_DAYS = 7;

/** Renders the next days with events, from today or from the first date of a later range. */
function NextEvents({ events, first }: { readonly events: readonly Event[]; readonly first: string }) {
  const begin = first > formatToday() ? first : formatToday();
  const next = events.filter(({ date }) => date >= begin);
  if (next.length === 0) return null;
  return (
    <Section title="Next events">
      <ComingDays events={next} shown={NEXT_DAYS} />
    </Section>
  );
}

/**
 * Returns the first date from which events are read. This is the requested date. If the displayed month is not in the
 * year after that date, it is the first day of the month.
 */
function findFirstDate(from: string | null, month: string | null): string {
  if (month === null) return from ?? formatToday();
  const [start, shown] = [from ?? `${formatToday().slice(0, 7)}-01`, `${month}-01`];
  return shown < start || shown > subtractMonths(start, -LATER_MONTHS) ? shown : start;
}

/** Number of months after the first date for which the service returns all events. */
const LATER_MONTHS = 11;

/** Renders the events of the month or of the selected day as a table. It also fits on a phone. */
function Agenda({ month, day, events, exchanges }: AgendaProps) {
  const rows = events.filter(({ date }) => (day === null ? date.startsWith(month) : date === day));
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (day !== null) frame.current?.scrollIntoView({ block: 'nearest' });
  }, [day]);
  return (
    <div ref={frame}>
      <Section
        title={day === null ? 'Events of the month' : `Events of ${day}`}
        aside={
          <>
            {countValues(rows.length, 'event')}
            {day !== null && <Button onClick={() => setParameters({ day: null })}>Whole month</Button>}
          </>
        }
      >
        <Table
          label={`events of the ${day === null ? 'month' : 'day'}`}
          columns={createColumns(exchanges).slice(day === null ? 0 : 1)}
          rows={rows}
          getKey={getKey}
          height={420}
          empty={`No event ${day === null ? 'in this month' : 'on this day'}.`}
        />
      </Section>
    </div>
  );
}

interface AgendaProps {
  /** YYYY-MM. */
  readonly month: string;
  /** Selected day. */
  readonly day: string | null;
  readonly events: readonly Event[];
  readonly exchanges: ReadonlyMap<string, string>;
}

const getKey = ({ date, kind, index_id: id, calendar, effective }: Event): string =>
  [date, kind, id, calendar, effective].join(' ');

/** Returns the calendar of the first event. */
const findCalendar = (view: EventsView | undefined): string | undefined => view?.events[0]?.calendar;

const VIEWS = [
  { value: 'month', text: 'Month' },
  { value: 'list', text: 'List' },
] as const;

interface FiltersProps {
  readonly view: 'month' | 'list';
  readonly kinds: readonly EventKind[];
  readonly index: string | null;
  readonly from: string | null;
}

function Filters({ view, kinds, index, from }: FiltersProps) {
  const indices = useResource('indices', (signal) => service.value.call('listIndices', { signal }));
  return (
    <div class="filter-bar">
      <Choice
        label="View"
        options={VIEWS}
        value={view}
        onChoose={(chosen) => setParameters({ view: chosen === 'month' ? null : chosen })}
      />
      <Toggles
        label="Kinds of events"
        values={EVENT_KINDS}
        chosen={kinds}
        every="all"
        formatLabel={formatKindName}
        formatMark={(kind) => `month-event ${EVENT_COLOURS[kind]}`}
        onChoose={(next) => setParameters({ kinds: next.length === 0 ? null : next.join() })}
      />
      <Select
        label="Index"
        isLabelShown
        options={[
          { value: '', text: 'all' },
          ...(indices.data?.indices ?? []).map(({ id }) => ({ value: id, text: id })),
        ]}
        value={index ?? ''}
        onChoose={(chosen) => setParameters({ index: chosen === '' ? null : chosen })}
      />
      {from !== null && view === 'list' && (
        <label class="select">
          <span class="quiet">One year from</span>
          <DateInput
            label="From"
            value={from}
            least="1900-01-01"
            most="2999-12-31"
            onChange={(date) => setParameters({ from: date })}
          />
        </label>
      )}
    </div>
  );
}

interface SubscribeProps {
  /** Address of the iCalendar file. */
  readonly address: string;
  readonly query: NonNullable<Parameters<typeof read>[0]>;
}

const read = (query: { readonly kinds?: readonly EventKind[]; readonly index_ids?: readonly string[] }) =>
  service.value.download('listEvents', 'text/calendar', { query });

/** Renders a download of the events as an iCalendar file, and the file's address for calendar programs. */
function Subscribe({ address, query }: SubscribeProps) {
  const copy = () =>
    attempt(async () => {
      await navigator.clipboard.writeText(location.origin + address);
      showToast('good', 'The calendar address was copied. Subscribe to it in a calendar program.');
    });
  return (
    <>
      {!hasKey.value && navigator.clipboard !== undefined && (
        <Button onClick={() => void copy()}>Copy the iCalendar address</Button>
      )}
      <Download class="button plain" address={address} fileName="divisor.ics" read={() => read(query)}>
        Download iCalendar
      </Download>
    </>
  );
}

type Event = EventsView['events'][number];

/** @param exchanges names of exchanges by their code */
const createColumns = (exchanges: ReadonlyMap<string, string>): readonly Column<Event>[] => [
  {
    id: 'date',
    title: 'Date',
    width: 124,
    value: ({ date }) => date,
    show: ({ date }) => <WeekdayDate date={date} />,
  },
  {
    id: 'kind',
    title: 'Kind',
    width: 120,
    priority: 3,
    value: ({ kind }) => kind,
    show: (event) => <EventBadge event={event} />,
  },
  {
    id: 'of',
    title: 'Subject',
    help: 'Index, or exchange of a holiday or closure',
    width: 104,
    ideal: 130,
    grow: 1,
    value: ({ index_id: id, calendar }) => id ?? calendar,
    show: ({ index_id: id, calendar }) =>
      id === null ? (
        <>
          {calendar} <span class="quiet">{exchanges.get(calendar ?? '')}</span>
        </>
      ) : (
        <a href={formatIndexAddress(id)}>{id}</a>
      ),
  },
  {
    id: 'summary',
    title: 'Event',
    width: 150,
    grow: 3,
    priority: 2,
    value: formatEvent,
    show: (event) => <span title={event.summary}>{formatEvent(event)}</span>,
  },
];
