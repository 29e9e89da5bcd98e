import type { Finding } from '../refusals/findings.js';
import type { PartLines } from './batch-parts.js';

/** An account as sent, or the reason why its line is not JSON. */
export type AccountLine = { readonly value: unknown } | { readonly finding: Finding };

/** Parses a line of JSON; a syntax error becomes a finding with line and column. */
export function parseLine(text: string, line: number): AccountLine {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (thrown) {
    const { message } = thrown as SyntaxError;
    const column = Number(/position (\d+)/.exec(message)?.[1] ?? text.length) + 1;
    const path = `line ${line}, column ${column}`;
    return { finding: { severity: 'error', code: 'WRONG_TYPE', path, message: `${path}: not JSON: ${message}` } };
  }
}

/** Yields the accounts of a part with their positions in the batch. */
export function* accountsOf({
  text: lines,
  position,
  line,
}: PartLines): Generator<AccountLine & { readonly position: number }> {
  let at = position;
  for (const [number, text] of lines.split('\n').entries())
    if (text.trim() !== '') yield { ...parseLine(text, (line ?? 1) + number), position: at++ };
}

/** Yields the lines of a text that arrives in pieces, without their ends. */
export async function* linesOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let open: Buffer[] = [];
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    let from = 0;
    for (let to = bytes.indexOf(NEWLINE); to >= 0; to = bytes.indexOf(NEWLINE, from)) {
      const end = bytes.subarray(from, to);
      yield open.length === 0 ? end : Buffer.concat([...open, end]);
      open = [];
      from = to + 1;
    }
    if (from < bytes.length) open.push(bytes.subarray(from));
  }
  if (open.length > 0) yield Buffer.concat(open);
}

const NEWLINE = 10;
