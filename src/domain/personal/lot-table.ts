import { refuseWithFindings, type Refusal } from '../refusals/refusal.js';

const COLUMNS = ['account_id', 'identifier', 'shares', 'cost', 'acquired'] as const;
/** Identifier of a row whose shares are the cash of its account. */
const CASH = 'CASH';

interface OpenAccount {
  readonly account_id: string;
  cash: number;
  readonly lots: object[];
  readonly source: LotSource;
  unreadable?: string;
}

/** Rows of a table by what its readers number: lines of a text from its header, or rows without the header. */
export interface TableRows {
  readonly unit: 'line' | 'row';
  readonly header: readonly string[];
  readonly rows: AsyncIterable<{ readonly cells: readonly string[]; readonly number: number }>;
}

/** Place of the lots of an account in a table, for findings. */
export interface LotSource {
  readonly unit: 'line' | 'row';
  readonly columns: readonly string[];
  /** Line of each lot. */
  readonly lines: number[];
}

/** Returns the place in the table of a path within the account; undefined if it is about no lot. */
export function placeInTable({ unit, columns, lines }: LotSource, path: string): string | undefined {
  const [, lot, field] = /\.?lots\[(\d+)\](?:\.(\w+))?$/.exec(path) ?? [];
  if (lot === undefined || lines[Number(lot)] === undefined) return undefined;
  const column = columns.indexOf(field ?? '') + 1;
  return `${unit} ${lines[Number(lot)]}${column > 0 ? `, column ${column}` : ''}`;
}

/** Reads the rows of a CSV table. */
export async function tableOfText(lines: AsyncGenerator<Buffer>): Promise<TableRows> {
  const cellsOf = (line: Buffer): string[] =>
    line
      .toString()
      .trim()
      .split(',')
      .map((cell) => cell.trim());
  const head = await lines.next();
  const header = head.done === true ? [] : cellsOf(head.value).map((cell) => cell.replace(/^\uFEFF/, ''));
  async function* rows() {
    let number = 1;
    for await (const line of lines) {
      number++;
      const cells = cellsOf(line);
      if (cells.length > 1 || cells[0] !== '') yield { cells, number };
    }
  }
  return { unit: 'line', header, rows: rows() };
}

/**
 * Yields the accounts of a table of lots as JSON. An account with a bad row has the reason in `unreadable`, and is refused when it is read.
 * @throws Refusal VALIDATION_FAILED for a header without a column, and for rows of an account that are not consecutive
 */
export async function* accountsOfLots({ unit, header, rows }: TableRows): AsyncGenerator<string> {
  const seen = new Set<string>();
  let open: OpenAccount | undefined;
  assertHeader(header, unit);
  for await (const { cells, number } of rows) {
    const id = cells[header.indexOf('account_id')] ?? '';
    if (open?.account_id !== id) {
      if (open !== undefined) yield JSON.stringify(open);
      if (seen.has(id))
        throw refusedAt(
          `${unit} ${number}`,
          `rows of the account ${id} are not consecutive: sort the table by account_id`,
        );
      seen.add(id);
      open = { account_id: id, cash: 0, lots: [], source: { unit, columns: header, lines: [] } };
    }
    addRow(open, { cells, number });
  }
  if (open !== undefined) yield JSON.stringify(open);
}

function assertHeader(header: readonly string[], unit: TableRows['unit']): void {
  const lacking = COLUMNS.filter((name) => !header.includes(name));
  if (lacking.length > 0)
    throw refusedAt(unit === 'line' ? 'line 1' : 'columns', `the header lacks ${lacking.join(', ')}`);
}

interface Row {
  readonly cells: readonly string[];
  readonly number: number;
}

function addRow(account: OpenAccount, { cells, number }: Row): void {
  const { unit, columns: header } = account.source;
  const textOf = (name: (typeof COLUMNS)[number]): string => cells[header.indexOf(name)] ?? '';
  const numberOf = (name: (typeof COLUMNS)[number]): number => {
    const text = textOf(name);
    const value = Number(text);
    if (text === '' || !Number.isFinite(value))
      account.unreadable ??= `${unit} ${number}, column ${header.indexOf(name) + 1} (${name}): "${text}" is not a number`;
    return value;
  };
  const identifier = textOf('identifier');
  if (cells.length !== header.length)
    account.unreadable ??= `${unit} ${number}: ${cells.length} cells; the header has ${header.length}`;
  else if (identifier === CASH) account.cash += numberOf('shares');
  else {
    account.lots.push({ identifier, shares: numberOf('shares'), cost: numberOf('cost'), acquired: textOf('acquired') });
    account.source.lines.push(number);
  }
}

function refusedAt(path: string, reason: string): Refusal {
  return refuseWithFindings('body', [{ severity: 'error', code: 'WRONG_TYPE', path, message: `${path}: ${reason}.` }]);
}
