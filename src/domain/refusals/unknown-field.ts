import type { Finding } from './findings.js';
import { suggestName } from '#base/text/nearest-name.js';

interface AskedField {
  /** Unknown name. */
  readonly name: string;
  readonly accepted: readonly string[];
  /** Text as the client wrote it, if it differs. */
  readonly value?: string;
}

/** Describes an unknown field, with the closest known one: `sector` suggests SECTOR. */
export function describeUnknownField(
  sentence: string,
  { name, accepted, value = name }: AskedField,
): Pick<Finding, 'code' | 'message' | 'accepted' | 'value'> {
  return { code: 'UNKNOWN_FIELD_NAME', message: `${sentence}${suggestName(name, accepted)}`, accepted, value };
}
