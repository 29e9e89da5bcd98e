import type { Finding } from './findings.js';
import { didYouMean } from '#base/text/nearest-name.js';

interface AskedField {
  /** The name that is not there. */
  readonly name: string;
  readonly accepted: readonly string[];
  /** As the client wrote it, where that is another. */
  readonly value?: string;
}

/** What is said of a field that is not there, with the one that is meant: `sector` asks for SECTOR. */
export function unknownField(
  sentence: string,
  { name, accepted, value = name }: AskedField,
): Pick<Finding, 'code' | 'message' | 'accepted' | 'value'> {
  return { code: 'UNKNOWN_FIELD_NAME', message: `${sentence}${didYouMean(name, accepted)}`, accepted, value };
}
