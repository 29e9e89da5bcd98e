import { formatDay, type Day } from '#domain/days.js';

/** A whole day in a calendar file. */
export interface CalendarEntry {
  /** The same whenever the entry is written. */
  readonly uid: string;
  readonly day: Day;
  readonly summary: string;
  readonly category: string;
}

/**
 * A calendar file.
 * @param stamp day on which it was written
 * @source RFC 5545
 */
export function icalendar(name: string, stamp: Day, entries: readonly CalendarEntry[]): string {
  const lines = [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//Divisor//Events//EN',
    'CALSCALE:GREGORIAN',
    `X-WR-CALNAME:${escaped(name)}`,
    ...entries.flatMap(({ uid, day, summary, category }) => [
      'BEGIN:VEVENT',
      `UID:${escaped(uid)}`,
      `DTSTAMP:${compact(stamp)}T000000Z`,
      `DTSTART;VALUE=DATE:${compact(day)}`,
      `DTEND;VALUE=DATE:${compact(day + 1)}`,
      `SUMMARY:${escaped(summary)}`,
      `CATEGORIES:${escaped(category)}`,
      'TRANSP:TRANSPARENT',
      'END:VEVENT',
    ]),
    'END:VCALENDAR',
  ];
  return lines.map((line) => `${folded(line)}\r\n`).join('');
}

const compact = (day: Day): string => formatDay(day).replaceAll('-', '');

function escaped(text: string): string {
  return text.replaceAll(/[\\;,]/g, String.raw`\$&`).replaceAll(/\r\n|\r|\n/g, String.raw`\n`);
}

/** Octets of a line, without its end. */
const LINE_BYTES_MAX = 75;

/** A line as long as the format allows, the rest in lines that begin with a space; no character is split. */
function folded(line: string): string {
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
