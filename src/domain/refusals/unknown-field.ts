import type { Finding } from './findings.js';
import { suggestName } from '#base/text/nearest-name.js';

interface RequestedField {
  /** Unknown name. */
  readonly name: string;
  readonly accepted: readonly string[];
  /** Text as written by the client, if it differs from the name. */
  readonly value?: string;
}

/** Describes an unknown field and suggests the most similar known field, such as SECTOR for `sector`. */
export function describeUnknownField(
  sentence: string,
  { name, accepted, value = name }: RequestedField,
): Pick<Finding, 'code' | 'message' | 'accepted' | 'value'> {
  return { code: 'UNKNOWN_FIELD_NAME', message: `${sentence}${suggestName(name, accepted)}`, accepted, value };
}
