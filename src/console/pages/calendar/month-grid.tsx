import type { EventsView } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { Icon } from '../../components/icon.js';
import { setParameters } from '../../state/location.js';
import { formatToday, subtractMonths } from '../../words/dates.js';
import { countValues } from '../../words/numbers.js';
import { formatEvent, formatKindName, getColour } from './event-kinds.js';

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
export function MonthGrid({ month, day, events, from, to }: MonthGridProps) {
  const byDay = new Map<string, Event[]>();
  for (const event of events) byDay.set(event.date, [...(byDay.get(event.date) ?? []), event]);
  const name = MONTH_NAME.format(new Date(`${month}-01`));
  const go = (months: number) => {
    const nextMonth = subtractMonths(`${month}-01`, -months).slice(0, 7);
    const isKnown = nextMonth >= from.slice(0, 7) && nextMonth <= to.slice(0, 7);
    setParameters({ month: nextMonth, day: null, ...(isKnown ? {} : { from: `${nextMonth}-01` }) });
  };
  return (
    <div class="month">
      <header class="month-head">
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
      <table class="month-days" data-part="Events of a month" aria-label={`Events of ${name}`}>
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
        <span class="month-number">{number}</span>
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
          <span class="month-number">{number}</span>
          {shownEvents.map((event, k) => (
            <span key={k} class={`month-event ${getColour(event)}`}>
              {event.index_id === null ? (
                <>
                  {event.calendar} <span class="month-kind">{formatEvent(event)}</span>
                </>
              ) : (
                <>
                  <span class="month-index">{event.index_id}</span>{' '}
                  <span class="month-kind">{formatKindName(event.kind)}</span>
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
