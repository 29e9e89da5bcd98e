import './calendar.css';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { EventsView } from '#clients/typescript/divisor.js';
import { Download } from '../../components/controls/action-button.js';
import { Button, Icon, LinkButton } from '../../components/controls/button.js';
import { Choice, Select, Toggles } from '../../components/controls/choice.js';
import { DateInput, WeekdayDate } from '../../components/controls/range.js';
import { Answered } from '../../components/feedback.js';
import { Metrics } from '../../components/layout/facts.js';
import { Page, Section } from '../../components/layout/page.js';
import type { Column } from '../../components/table/model.js';
import { Table } from '../../components/table/table.js';
import { tryAction } from '../../state/actions.js';
import { formatAddress, getParameter, setParameters } from '../../state/location.js';
import { useExchanges } from '../../state/market.js';
import { hasKey, service, useAnswer, useList } from '../../state/service.js';
import { showToast } from '../../state/toasts.js';
import { formatClosuresAddress, formatIndexAddress } from '../../words/addresses.js';
import { formatDaysTo, formatToday, subtractMonths } from '../../words/dates.js';
import { countValues, formatCount } from '../../words/numbers.js';
import { ComingDays, EventBadge } from './coming.js';
import {
  EVENT_COLOURS,
  EVENT_KINDS,
  type EventKind,
  formatEvent,
  formatKindName,
  getEventColour,
  groupNextEvents,
} from './event-kinds.js';

type Event = EventsView['events'][number];

interface MonthGridProps {
  /** YYYY-MM. */
  readonly month: string;
  /** Selected day. */
  readonly day: string | null;
  readonly events: readonly Event[];
  /** First and last date of the events. */
  readonly from: string;
  readonly to: string;
}

const WEEKDAYS = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const;
const MONTH_NAME = new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Maximum number of events that are named per day. Further events are only counted. */
const NAMED_MAX = 3;

/**
 * Renders a month of events. Each row is a week from Monday to Sunday. The events of a selected day are listed below
 * the month.
 */
function MonthGrid({ month, day, events, from, to }: MonthGridProps) {
  const byDay = new Map<string, Event[]>();
  for (const event of events) byDay.set(event.date, [...(byDay.get(event.date) ?? []), event]);
  const name = MONTH_NAME.format(new Date(`${month}-01`));
  const go = (months: number) => {
    const nextMonth = subtractMonths(`${month}-01`, -months).slice(0, 7);
    const isKnown = nextMonth >= from.slice(0, 7) && nextMonth <= to.slice(0, 7);
    setParameters({ month: nextMonth, day: null, ...(isKnown ? {} : { from: `${nextMonth}-01` }) });
  };
  return (
    <div class="stack gap-2 month">
      <header class="line gap-2 month-head">
        <Button kind="bare" aria-label="Month before" onClick={() => go(-1)}>
          <span class="turned">
            <Icon name="up" />
          </span>
        </Button>
        <h2>{name}</h2>
        <Button kind="bare" aria-label="Month after" onClick={() => go(1)}>
          <span class="turned">
            <Icon name="down" />
          </span>
        </Button>
        <Button
          disabled={month === formatToday().slice(0, 7)}
          onClick={() => setParameters({ month: null, from: null, day: null })}
          title={formatToday()}
        >
          Today
        </Button>
      </header>
      <table class="raised month-days" data-part="Events of a month" aria-label={`Events of ${name}`}>
        <thead>
          <tr>
            {WEEKDAYS.map((day) => (
              <th key={day} scope="col">
                {day}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {listWeeks(month).map((week) => (
            <tr key={week[0]}>
              {week.map((date) => (
                <Day
                  key={date}
                  date={date}
                  isOther={!date.startsWith(month)}
                  isSelected={date === day}
                  events={byDay.get(date) ?? []}
                />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface DayProps {
  readonly date: string;
  /** True for a day of an adjacent month. */
  readonly isOther: boolean;
  readonly isSelected: boolean;
  readonly events: readonly Event[];
}

function Day({ date, isOther, isSelected, events }: DayProps) {
  const number = Number(date.slice(8));
  const isToday = date === formatToday();
  const shownEvents = events.slice(0, NAMED_MAX);
  return (
    <td class={isOther ? 'is-other' : isToday ? 'is-today' : ''}>
      {events.length === 0 ? (
        <span class="small month-number">{number}</span>
      ) : (
        <button
          type="button"
          title={events.map(({ summary }) => summary).join('\n')}
          aria-pressed={isSelected}
          onClick={() => setParameters({ day: isSelected ? null : date })}
        >
          <span class="unseen">
            {date}: {countValues(events.length, 'event')}
          </span>
          <span class="small month-number">{number}</span>
          {shownEvents.map((event, k) => (
            <span key={k} class={`month-event ${getEventColour(event)}`}>
              {event.index_id === null ? (
                <>
                  {event.calendar} <span class="second">{formatEvent(event)}</span>
                </>
              ) : (
                <>
                  <span class="cut month-index">{event.index_id}</span>{' '}
                  <span class="second">{formatKindName(event.kind)}</span>
                </>
              )}
            </span>
          ))}
          {events.length > NAMED_MAX && <span class="quiet">+{events.length - NAMED_MAX}</span>}
        </button>
      )}
    </td>
  );
}

const DAY_MS = 86_400_000;

/** Returns the weeks that overlap a month, each from Monday. */
export function listWeeks(month: string): readonly (readonly string[])[] {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const start = first - ((new Date(first).getUTCDay() + 6) % 7) * DAY_MS;
  const weeks: string[][] = [];
  for (let week = start; weeks.length === 0 || formatIsoDate(week).startsWith(month); week += 7 * DAY_MS)
    weeks.push(Array.from({ length: 7 }, (_, day) => formatIsoDate(week + day * DAY_MS)));
  return weeks;
}

const formatIsoDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

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
  const events = useAnswer('listEvents', { query }, { keeps: true });
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
              <div class="stack gap-5 calendar-first">
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
  const indices = useList('indices');
  return (
    <div class="flow gap-3 filter-bar">
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
        <label class="inline-line gap-2 select">
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
    tryAction(async () => {
      await navigator.clipboard.writeText(location.origin + address);
      showToast('good', 'The calendar address was copied. Subscribe to it in a calendar program.');
    });
  return (
    <>
      {!hasKey.value && navigator.clipboard !== undefined && (
        <Button onClick={() => void copy()}>Copy the iCalendar address</Button>
      )}
      <Download
        class="inline-line raised one-line button plain"
        address={address}
        fileName="divisor.ics"
        read={() => read(query)}
      >
        Download iCalendar
      </Download>
    </>
  );
}

/** @param exchanges names of exchanges by their code */
const createColumns = (exchanges: ReadonlyMap<string, string>): readonly Column<Event>[] => [
  { id: 'date', title: 'Date', width: 124, show: ({ date }) => <WeekdayDate date={date} /> },
  { id: 'kind', title: 'Kind', width: 120, priority: 3, show: (event) => <EventBadge event={event} /> },
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
