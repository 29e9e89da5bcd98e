import { assertOrder } from '#domain/schema/assert-order.js';
import { type Day, parseValidDay } from '#domain/time/days.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { describeUnknownField } from '#domain/refusals/unknown-field.js';

/** Day after all days of data. */
export const LAST_DAY: Day = parseValidDay('9999-12-31');

export function refuseUnknownIdentifier(identifier: string, datasetId: string): Refusal {
  return new Refusal('IDENTIFIER_NOT_FOUND', `The data store ${datasetId} does not hold ${identifier}.`, {
    identifier,
    store_id: datasetId,
  });
}

/** Returns the dates of a window. @throws Refusal INVALID_RANGE */
export function parseWindow({
  start,
  end,
}: {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}): {
  readonly start: Day | null;
  readonly end: Day | null;
} {
  assertOrder({ start, end });
  return {
    start: start === undefined ? null : parseValidDay(start),
    end: end === undefined ? null : parseValidDay(end),
  };
}

/**
 * Checks that every name is one of the accepted names. @throws Refusal VALIDATION_FAILED with one finding per unknown
 * name
 */
export function assertKnownIdentifier(names: readonly string[], acceptedNames: readonly string[], path: string): void {
  const unknownNames = names.filter((name) => !acceptedNames.includes(name));
  if (unknownNames.length === 0) return;
  throw refuseWithFindings(
    'query',
    unknownNames.map((name) => ({
      severity: 'error',
      path,
      ...describeUnknownField(`${name} is not one of ${acceptedNames.join(', ')}.`, { name, accepted: acceptedNames }),
    })),
  );
}
