import { z } from 'zod';
import { isMoment, MOMENT } from '../time/moment.js';

/** Form of a point in time, or of the number of a version. */
const MOMENT_OR_VERSION = /^([1-9]\d{0,8}|\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?)$/;
const message = 'must be a version, a date or a time, such as 12, 2024-01-31 or 2024-01-31T17:30:00Z';
const description =
  'Version of the data: a number, or the newest version known at a time (for a date: its end, in UTC).';

/** Point in time or version whose data are used. Default: the last version. */
export const AsKnownOn = z
  .union([z.int().min(1), z.string().regex(MOMENT, { message, abort: true }).refine(isMoment, { message })])
  .optional()
  .meta({ description });
export type AsKnownOn = NonNullable<z.infer<typeof AsKnownOn>>;

/** Query parameter form of `AsKnownOn`, where a number is a text. */
export const AsKnownOnText = z
  .string()
  .regex(MOMENT_OR_VERSION, { message, abort: true })
  .refine((text) => parseVersionNumber(text) !== undefined || isMoment(text), { message })
  .optional()
  .meta({ description });

/** Returns the number of a version. Returns undefined for a point in time. */
export function parseVersionNumber(asKnownOn: AsKnownOn): number | undefined {
  return typeof asKnownOn === 'number' || /^\d{1,9}$/.test(asKnownOn) ? Number(asKnownOn) : undefined;
}
