import type { EventsView } from '#clients/typescript/divisor.js';
import { Section } from '../../components/page.js';
import { Table } from '../../components/table/table.js';
import type { Column } from '../../components/table/columns.js';
import { Answered } from '../../components/wait.js';
import { WeekdayDate } from '../../components/weekday-date.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { EventBadge } from './event-badge.js';
import { formatEvent, formatKind } from './event-kinds.js';

type Event = EventsView['events'][number];

/** Renders the days of the next year on which an exchange is closed or has other hours. */
export function Holidays({ code }: { readonly code: string }) {
  const events = useResource('events holidays', (signal) =>
    service.value.call('listEvents', { query: { kinds: ['holiday', 'early_close', 'closure'] }, signal }),
  );
  return (
    <Section title="Coming holidays and changes" aside="the next year">
      <Answered resource={events} what="the holidays">
        {({ events: all }) => {
          const rows = all.filter(({ calendar }) => calendar === code);
          return rows.length === 0 ? (
            <p class="quiet">No index uses this calendar: its holidays are listed once one does.</p>
          ) : (
            <Table
              label={`holidays of ${code}`}
              name="holidays"
              columns={COLUMNS}
              rows={rows}
              getKey={({ date, kind }) => `${date} ${kind}`}
              height={420}
            />
          );
        }}
      </Answered>
    </Section>
  );
}

const COLUMNS: readonly Column<Event>[] = [
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
    width: 104,
    grow: 0.7,
    value: formatKind,
    show: (event) => <EventBadge event={event} />,
  },
  { id: 'summary', title: 'Event', width: 140, grow: 3, value: formatEvent },
];
