import type { Cell } from './cells.js';

/** Maximum length of a line in bytes, equal to that of a CSV record. */
const LINE_BYTES_MAX = 1 << 20;

/**
 * Number of lines whose members determine the columns of a file. If a member first appears in a later line, it is
 * reported as unknown.
 */
const HEADER_LINES = 1000;

const LF = 0x0a;

export class JsonLinesFault extends Error {
  override readonly name = 'JsonLinesFault';
  /** Number of the line, counted from 1. */
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

export interface JsonLinesReader {
  /**
   * Called with the columns of the file. Returns the receiver of its rows, or undefined to stop. An invalid line is
   * passed as null.
   */
  readonly onHeader: (columns: string[]) => ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;
  /** Called for each line that is not a JSON object of scalar values. */
  readonly onFault: (fault: JsonLinesFault) => void;
}

/**
 * Reads lines of JSON objects. The columns are all members of the first lines. Nested values are rejected. Empty lines
 * are skipped and not counted. Reading ends if none of the first lines is an object.
 * @throws JsonLinesFault for a line that is too long.
 * @cost one JSON.parse a line, about 1 µs for ten members.
 */
export async function readJsonLines(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { onHeader, onFault }: JsonLinesReader,
): Promise<void> {
  const columns: string[] = [];
  const columnNames = new Set<string>();
  let bufferedRows: (Record<string, unknown> | null)[] | undefined = [];
  let onRow: ((cells: readonly (Cell | undefined)[] | null) => void) | undefined;
  let line = 0;

  function beginRows(): boolean {
    const rows = bufferedRows!;
    bufferedRows = undefined;
    if (rows.length > 0 && rows.every((row) => row === null)) return false;
    for (const name of rows.flatMap((row) => Object.keys(row ?? {}))) columnNames.add(name);
    columns.push(...columnNames);
    onRow = onHeader(columns);
    if (onRow === undefined) return false;
    for (const row of rows) onRow(readCells(row));
    return true;
  }

  const readCells = (row: Record<string, unknown> | null) =>
    row && columns.map((name) => row[name] as Cell | undefined); // checked by `parseObject`

  /** Returns the row of a line. Returns undefined for an empty line, and null, with a finding, for an invalid line. */
  function parseRow(bytes: Uint8Array): Record<string, unknown> | null | undefined {
    try {
      const text = decode(bytes);
      if (text.trim() === '') return undefined;
      line += 1;
      const row = parseObject(text, line);
      if (bufferedRows === undefined)
        for (const name in row)
          if (!columnNames.has(name))
            throw new JsonLinesFault(line, `The member ${name} is not in the first ${HEADER_LINES} lines.`);
      return row;
    } catch (fault) {
      if (!(fault instanceof JsonLinesFault)) throw fault;
      onFault(fault);
      return null;
    }
  }

  function add(bytes: Uint8Array): boolean {
    const row = parseRow(bytes);
    if (row === undefined) return true;
    if (bufferedRows === undefined) {
      onRow!(readCells(row));
      return true;
    }
    bufferedRows.push(row);
    return bufferedRows.length < HEADER_LINES || beginRows();
  }

  const decoder = new TextDecoder('utf-8', { fatal: true });
  let restChunks: Uint8Array[] = [];
  let restBytes = 0;
  const decode = (bytes: Uint8Array) => {
    try {
      return decoder.decode(bytes);
    } catch {
      line += 1;
      throw new JsonLinesFault(line, 'The line is not UTF-8.');
    }
  };
  async function readLines(): Promise<void> {
    for await (const chunk of chunks) {
      let from = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, from)) {
        const tail = chunk.subarray(from, end);
        const bytes = restChunks.length === 0 ? tail : Buffer.concat([...restChunks, tail]);
        restChunks = [];
        restBytes = 0;
        if (!add(bytes)) return;
        from = end + 1;
      }
      if (from < chunk.length) {
        restChunks.push(chunk.slice(from));
        restBytes += chunk.length - from;
        if (restBytes > LINE_BYTES_MAX)
          throw new JsonLinesFault(line + 1, `The line is longer than ${LINE_BYTES_MAX} bytes.`);
      }
    }
    if (restBytes > 0 && !add(Buffer.concat(restChunks))) return;
    if (bufferedRows !== undefined) beginRows();
  }

  try {
    await readLines();
  } catch (fault) {
    if (fault instanceof JsonLinesFault && bufferedRows !== undefined && bufferedRows.length > 0) beginRows(); // problems of the lines before an invalid one are reported too
    throw fault;
  }
}

function parseObject(text: string, line: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new JsonLinesFault(line, 'The line is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new JsonLinesFault(line, 'The line is not a JSON object.');
  const row = value as Record<string, unknown>; // an object that is not an array
  for (const name in row) {
    const member = row[name];
    if (typeof member === 'object' && member !== null)
      throw new JsonLinesFault(line, `The member ${name} is not a single value.`);
  }
  return row;
}
