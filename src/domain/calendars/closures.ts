import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate } from '../schema/shape.js';

/** Maximum number of recorded changes of a calendar: one per week for 40 years. */
export const CLOSURES_MAX = 2000;
const REASON_LENGTH_MAX = 500;

const LocalTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, { error: 'must be a local time HH:MM, such as 13:00' });

/** Recorded change of one day of a calendar. */
export const SessionChange = defineObject(() => ({
  date: IsoDate.meta({ description: 'Day on which the calendar differs from its rules.' }),
  session: z.enum(['closed', 'open']).meta({
    description:
      '`closed`: the day has no session. `open`: the day has a session with unusual hours, or is an additional session.',
  }),
  opens: LocalTime.optional().meta({ description: 'Local time of a late opening. Default: the usual time.' }),
  closes: LocalTime.optional().meta({ description: 'Local time of an early close. Default: the usual time.' }),
  reason: z
    .string()
    .min(1)
    .max(REASON_LENGTH_MAX)
    .meta({ description: 'Reason for the change, including the source.' }),
})).meta({ id: 'SessionChange' });
export type SessionChange = z.infer<typeof SessionChange>;

/** Recorded changes of a calendar; its code is its key. */
export const ClosuresDocument = defineObject(() => ({
  changes: z.array(SessionChange).max(CLOSURES_MAX).meta({ description: 'Changes, one for each date.' }),
})).meta({ id: 'ClosuresDocument' });
export type ClosuresDocument = z.infer<typeof ClosuresDocument>;

/** Recorded changes with the version of their document. */
export const VersionedClosures = defineObject(() => ({
  ...ClosuresDocument.shape,
  version: z.int().min(1).meta({ description: 'Version of the recorded changes.' }),
}));
export type VersionedClosures = z.infer<typeof VersionedClosures>;

/** Recorded changes by calendar code. */
export const RecordedClosures = z.record(z.string().min(1).max(64), VersionedClosures);
export type RecordedClosures = z.infer<typeof RecordedClosures>;

interface ClosuresByCalendar {
  readonly closures?: RecordedClosures | undefined;
}

/**
 * Returns the recorded changes of the calendars in several documents. If there are several versions for one calendar,
 * returns the newest.
 */
export function listClosures(documents: Readonly<Record<string, ClosuresByCalendar>>): RecordedClosures {
  const latestClosures: RecordedClosures = {};
  for (const { closures = {} } of Object.values(documents))
    for (const [code, recorded] of Object.entries(closures))
      if ((latestClosures[code]?.version ?? 0) < recorded.version) latestClosures[code] = recorded;
  return latestClosures;
}

/** Describes a recorded change, as in `closed: National day of mourning`. */
export function describeChange({ session, opens, closes, reason }: SessionChange): string {
  const hours = [
    opens === undefined ? [] : [`opens ${opens}`],
    closes === undefined ? [] : [`closes ${closes}`],
  ].flat();
  const changePhrase = session === 'closed' ? 'closed' : hours.length === 0 ? 'additional session' : hours.join(', ');
  return `${changePhrase}: ${reason}`;
}
