import { scanJson } from './json-scan.js';
import { Refusal } from '../refusals/refusal.js';

export interface ParsedJson {
  /** Parsed value; undefined if there was no body and none is required. */
  readonly value: unknown;
  /** True if the text contains a number outside the range of a double. Such a number is infinite in `value`. */
  readonly overflows: boolean;
}

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the bytes of a body as JSON.
 * @throws Refusal MALFORMED_REQUEST with the position of the fault
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const text = decode(bytes);
  const { fault, overflows } = scanJson(text);
  if (fault !== undefined)
    throw new Refusal(
      'MALFORMED_REQUEST',
      `The body is refused at ${formatPosition(text, fault.offset)}: ${fault.reason}.`,
    );
  return { value: JSON.parse(text) as unknown, overflows };
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new Refusal('MALFORMED_REQUEST', 'The body is not UTF-8.');
  }
}

function formatPosition(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `line ${line}, column ${offset - before.lastIndexOf('\n')}`;
}
