import type { EventsView } from '#contract/calendars.js';
import { type Day, formatDay, parseValidDay } from '#domain/base/time.js';

/** An all-day entry of a calendar file. */
interface CalendarEntry {
  /** Identifier of the entry. It stays the same whenever the file is written. */
  readonly uid: string;
  readonly day: Day;
  readonly summary: string;
  readonly category: string;
}

/** Metadata of a calendar file. */
interface CalendarAbout {
  readonly name: string;
  readonly description: string;
  /** Day on which the file is written. */
  readonly stamp: Day;
}

/**
 * Lines of a calendar file without events. The format requires at least one component, so the file contains a time
 * zone.
 */
const NO_EVENTS = [
  'BEGIN:VTIMEZONE',
  'TZID:UTC',
  'BEGIN:STANDARD',
  'DTSTART:19700101T000000',
  'TZOFFSETFROM:+0000',
  'TZOFFSETTO:+0000',
  'END:STANDARD',
  'END:VTIMEZONE',
];

/**
 * Formats a calendar file.
 * @source RFC 5545; RFC 7986 for the metadata of the file
 */
function formatCalendar({ name, description, stamp }: CalendarAbout, entries: readonly CalendarEntry[]): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Divisor//Events//EN',
    'CALSCALE:GREGORIAN',
    `NAME:${escape(name)}`,
    `X-WR-CALNAME:${escape(name)}`,
    `DESCRIPTION:${escape(description)}`,
    ...(entries.length === 0 ? NO_EVENTS : []),
    ...entries.flatMap(({ uid, day, summary, category }) => [
      'BEGIN:VEVENT',
      `UID:${escape(uid)}`,
      `DTSTAMP:${formatCompactDay(stamp)}T000000Z`,
      `DTSTART;VALUE=DATE:${formatCompactDay(day)}`,
      `DTEND;VALUE=DATE:${formatCompactDay(day + 1)}`,
      `SUMMARY:${escape(summary)}`,
      `CATEGORIES:${escape(category)}`,
      'TRANSP:TRANSPARENT',
      'END:VEVENT',
    ]),
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${foldLine(line)}\r\n`).join('');
}

const formatCompactDay = (day: Day): string => formatDay(day).replaceAll('-', '');

/** Escapes text for a calendar file. Removes control characters, which the format does not allow, except tabs. */
function escape(text: string): string {
  return text
    .replaceAll(/[\\;,]/g, String.raw`\$&`)
    .replaceAll(/\r\n|\r|\n/g, String.raw`\n`)
    .replaceAll(/[^\P{Cc}\t]/gu, '');
}

/** Maximum number of octets per line, without the line end. */
const LINE_BYTES_MAX = 75;

/**
 * Splits a line that is longer than the format allows. The next lines start with a space. A character is never split.
 */
function foldLine(line: string): string {
  if (Buffer.byteLength(line) <= LINE_BYTES_MAX) return line;
  let text = '';
  let bytes = 0;
  for (const character of line) {
    const size = Buffer.byteLength(character);
    if (bytes + size > LINE_BYTES_MAX) {
      text += '\r\n ';
      bytes = 1;
    }
    text += character;
    bytes += size;
  }
  return text;
}

/** Formats the events of indices as a calendar file. @param today day on which the file is written */
export function formatEventCalendar(view: EventsView, today: Day): string {
  const { events, from, to, covered_from: coveredFrom, covered_to: coveredTo } = view;
  const coverage =
    coveredFrom === null
      ? ''
      : ` All calendars of the indices cover ${coveredFrom} to ${coveredTo}: outside, events are missing.`;
  const description = `Events from ${from} to ${to}.${coverage}`;
  return formatCalendar(
    { name: 'Divisor: index events', description, stamp: today },
    events.map(({ date, kind, index_id: indexId, calendar, effective, summary }) => ({
      uid: `${date}-${kind}-${indexId ?? calendar}${kind === 'announcement' ? `-${effective}` : ''}@divisor`,
      day: parseValidDay(date),
      summary: formatSummary(summary, indexId),
      category: kind,
    })),
  );
}

/**
 * Adds the id of the index to the summary. Several indices can have the same name, and a calendar entry shows nothing
 * else about the index.
 */
function formatSummary(summary: string, indexId: string | null): string {
  return indexId === null || summary.startsWith(`${indexId}: `) ? summary : `${summary} (${indexId})`;
}
