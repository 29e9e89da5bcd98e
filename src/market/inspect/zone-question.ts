import type { Mapping } from '#domain/documents/mapping.js';
import type { Finding } from '#domain/refusals/findings.js';
import { TIME_ZONE_PATH, type ZoneTerms } from '../content/instant-days.js';
import type { Question } from './question.js';

/** Calendars of the service, and the codes of those that stored indices use. */
export interface UsedZones extends Pick<ZoneTerms, 'calendars'> {
  readonly codes?: readonly string[] | undefined;
}

/**
 * Returns the question for the time zone of instants, if neither the data nor the mapping states it. The zone of the
 * calendars that stored indices use is taken if every instant is midnight in it; otherwise an answer is required.
 */
export function askTimeZone(
  { time_zone: stated }: Mapping,
  findings: readonly Finding[],
  { calendars, codes = [] }: UsedZones,
): Question | undefined {
  const finding = findings.find(({ code, path }) => code === 'REQUIRED' && path === TIME_ZONE_PATH);
  if (finding === undefined || stated !== null) return undefined;
  const { message } = finding;
  const midnightZones = finding.accepted ?? [];
  const usedZones = [...new Set(codes.flatMap((code) => calendars?.get(code)?.tz ?? []))];
  const [zone, ...otherZones] = usedZones.filter((each) => midnightZones.includes(each));
  const field = 'time_zone';
  if (zone === undefined || otherZones.length > 0)
    return {
      field,
      question: message,
      taken: null,
      others: [...new Set([...usedZones, ...midnightZones])],
      required: true,
    };
  const question = `The dates are instants in UTC, and every one is midnight in ${zone}, the time zone of ${codes.join(', ')}. They are read as days of this zone.`;
  return { field, question, taken: zone, others: midnightZones.filter((each) => each !== zone), required: false };
}
