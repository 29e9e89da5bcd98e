import type { Finding } from '../refusals/findings.js';
import type { PartLines } from './batch-parts.js';

/** Account as sent, or a finding that its line is not JSON. */
export type AccountLine = { readonly value: unknown } | { readonly finding: Finding };

/** Account within a part of a batch. */
export type PartAccount = AccountLine & {
  /** Index of the account in the batch. */
  readonly position: number;
  /** Line of the upload; null if the accounts were not sent as lines. */
  readonly line: number | null;
};

/** Parses a line of JSON. A syntax error becomes a finding with line and column. */
export function parseLine(text: string, line: number): AccountLine {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    const { message } = error as SyntaxError;
    const column = Number(/position (\d+)/.exec(message)?.[1] ?? text.length) + 1;
    const path = `line ${line}, column ${column}`;
    return { finding: { severity: 'error', code: 'WRONG_TYPE', path, message: `${path}: not JSON: ${message}` } };
  }
}

/** Yields the accounts of a part. */
export function* parseAccounts({ text: lines, position, line: first }: PartLines): Generator<PartAccount> {
  let linePosition = position;
  for (const [number, text] of lines.split('\n').entries()) {
    const line = first === null ? null : first + number;
    if (text.trim() !== '') yield { ...parseLine(text, line ?? number + 1), position: linePosition++, line };
  }
}

const ID_KEY = Buffer.from('"account_id"');

/**
 * Returns the id in a line of JSON without parsing the lots. Returns undefined if there is no id of at most 64
 * characters. In the line of a valid account the key occurs once. It never occurs within a string, because quotes are
 * escaped there.
 * @param line UTF-8 @cost one search from the end of the line
 */
export function findAccountId(line: Buffer): string | undefined {
  const position = line.lastIndexOf(ID_KEY);
  const text = position < 0 ? '' : line.toString('utf8', position + ID_KEY.length, position + ID_KEY.length + ID_SPAN);
  const accountId = /^\s*:\s*"([^"\\]{1,64})"/.exec(text)?.[1];
  return accountId ?? (position < 0 && !line.includes(ESCAPE) ? undefined : findParsedId(line.toString()));
}

/** Number of characters after the key that are searched for the id. */
const ID_SPAN = 512;
const ESCAPE = Buffer.from('\\u');

/** Returns the id of a line in which the key or id has an unusual form, such as escapes. */
function findParsedId(text: string): string | undefined {
  const parsedLine = parseLine(text, 1);
  const id = 'value' in parsedLine ? (parsedLine.value as { account_id?: unknown } | null)?.account_id : undefined;
  return typeof id === 'string' && id.length <= 64 ? id : undefined;
}

/** Returns a line that is refused because an earlier account has the same id. */
export function refuseRepeatedAccount(id: string): string {
  return JSON.stringify({ account_id: id, is_repeated: true });
}

/** Yields the lines of a text that arrives in chunks, without line ends. */
export async function* splitLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let openPieces: Buffer[] = [];
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    let from = 0;
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      const endBytes = bytes.subarray(from, to);
      yield openPieces.length === 0 ? endBytes : Buffer.concat([...openPieces, endBytes]);
      openPieces = [];
      from = to + 1;
    }
    if (from < bytes.length) openPieces.push(bytes.subarray(from));
  }
  if (openPieces.length > 0) yield Buffer.concat(openPieces);
}

const NEWLINE = 10;
