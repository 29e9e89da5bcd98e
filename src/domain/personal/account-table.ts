import { callOnce } from '#base/once.js';
import { suggestName } from '#base/text/nearest-name.js';
import type { Finding } from '../refusals/findings.js';
import { refuseWithFindings } from '../refusals/refusal.js';
import {
  listAccountColumns,
  CASH,
  listOwnColumns,
  REQUIRED_COLUMNS,
  parseValue,
  type AccountColumn,
} from './account-columns.js';

/** Maximum number of unreadable rows that are listed per account. Further ones are only counted. */
const PROBLEMS_MAX = 50;

/**
 * Rows of a table, with their numbers for messages. A text counts all lines including the header; otherwise rows are
 * counted without the header.
 */
export interface TableRows {
  readonly unit: 'line' | 'row';
  readonly header: readonly string[];
  readonly rows: AsyncIterable<TableRow>;
}

export interface TableRow {
  readonly cells: readonly string[];
  readonly number: number;
}

/** Locations of the values of an account in a table. Findings refer to them. */
export interface TableSource {
  readonly unit: 'line' | 'row';
  readonly columns: readonly string[];
  /** Line of the first row of the account. */
  readonly line: number;
  /** Line of each lot. */
  readonly lines: readonly number[];
  /** Line of each recent trade. */
  readonly recent: readonly number[];
  /** Line of each field of the account, by column. */
  readonly own: Readonly<Record<string, number>>;
  /** Rows that could not be read. */
  readonly problems: readonly string[];
  readonly problem_count: number;
}

/** Returns the location in the table of a path within the account. */
export function locateInTable({ unit, columns, line, lines, recent, own }: TableSource, path: string): string {
  const readText = (row: number, column: string | undefined): string => {
    const number = columns.indexOf(column ?? '') + 1;
    return `${unit} ${row}${number > 0 ? `, column ${number}` : ''}`;
  };
  const [, list, position, field] = /^(lots|recent)\[(\d+)\](?:\.(\w+))?$/.exec(path) ?? [];
  const row = (list === 'lots' ? lines : recent)[Number(position)];
  if (row !== undefined) return readText(row, getColumnsByField().get(`${list}.${field}`) ?? field);
  const column = Object.keys(own).find(
    (name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`),
  );
  return column === undefined ? `${unit} ${line}` : readText(own[column]!, column);
}

const getColumnsByField = callOnce(() => new Map(listAccountColumns().map(({ field, name }) => [field, name])));

/**
 * Yields the accounts of a table as JSON, with the locations of their values. If a cell does not have the form of its
 * column, it remains a text, and the check of the account reports it.
 * @throws Refusal VALIDATION_FAILED for a header with a missing or unknown column, and for rows of an account that are
 * not consecutive
 */
export async function* parseAccountTable({ unit, header, rows }: TableRows): AsyncGenerator<string> {
  const seenIds = new Set<string>();
  const columns = findColumns(header, unit);
  let currentAccount: OpenAccount | undefined;
  for await (const row of rows) {
    const id = row.cells[columns.id] ?? '';
    if (currentAccount?.id !== id) {
      if (currentAccount !== undefined) yield currentAccount.end();
      if (seenIds.has(id))
        throw refuseWithFindings('body', [
          createProblem(
            `${unit} ${row.number}`,
            `rows of the account ${id} are not consecutive: sort the table by account_id`,
          ),
        ]);
      seenIds.add(id);
      currentAccount = openAccount(id, { unit, columns, header, line: row.number });
    }
    currentAccount.add(row);
  }
  if (currentAccount !== undefined) yield currentAccount.end();
}

/** Positions of the columns in a row. */
interface Columns {
  readonly id: number;
  readonly own: readonly (AccountColumn & { readonly at: number })[];
  readonly identifier: number;
  readonly shares: number;
  readonly cost: number;
  readonly acquired: number;
  readonly bought: number;
  /** Position of the day of recent trades. -1 if the table has no recent trades. */
  readonly traded: number;
  readonly price: number;
  /** Columns without a name, which must be empty. */
  readonly unnamed: readonly number[];
}

/**
 * Returns the positions of the columns. @throws Refusal VALIDATION_FAILED with every unknown, repeated and missing
 * column
 */
function findColumns(header: readonly string[], unit: TableRows['unit']): Columns {
  const columnNames = listAccountColumns().map(({ name }) => name);
  const formatLocation = (position: number): string =>
    unit === 'line' ? `line 1, column ${position + 1}` : `column ${position + 1}`;
  const findings = header.flatMap((name, position): Finding[] => {
    if (name === '' || (columnNames.includes(name) && header.indexOf(name) === position)) return [];
    return header.indexOf(name) < position
      ? [createProblem(formatLocation(position), `the column ${name} is repeated`)]
      : [reportUnknownColumn(name, formatLocation(position), columnNames)];
  });
  const missingColumns = REQUIRED_COLUMNS.filter((name) => !header.includes(name));
  if (missingColumns.length > 0)
    findings.push(
      createProblem(
        unit === 'line' ? 'line 1' : 'columns',
        `the header lacks ${missingColumns.join(', ')}`,
        'MISSING_COLUMN',
      ),
    );
  if (findings.length > 0) throw refuseWithFindings('body', addColumns(findings, columnNames));
  const findColumn = (name: string): number => header.indexOf(name);
  return {
    id: findColumn('account_id'),
    own: listOwnColumns()
      .map((column) => ({ ...column, at: findColumn(column.name) }))
      .filter((column) => column.at >= 0),
    identifier: findColumn('identifier'),
    shares: findColumn('shares'),
    cost: findColumn('cost'),
    acquired: findColumn('acquired'),
    bought: findColumn('bought'),
    traded: findColumn('traded'),
    price: findColumn('price'),
    unnamed: header.flatMap((name, column) => (name === '' ? [column] : [])),
  };
}

interface OpenAccount {
  readonly id: string;
  add(row: TableRow): void;
  /** Returns the account as JSON. */
  end(): string;
}

interface AccountLocation {
  readonly unit: TableRows['unit'];
  readonly columns: Columns;
  readonly header: readonly string[];
  readonly line: number;
}

function openAccount(id: string, { unit, columns, header, line }: AccountLocation): OpenAccount {
  const account: Record<string, unknown> = {};
  const [lots, recent]: [object[], object[]] = [[], []];
  const source = { unit, columns: header, line, lines: [] as number[], recent: [] as number[] };
  const ownValues: Record<string, number> = {};
  const texts = new Map<string, string>();
  const problems: string[] = [];
  let [problemCount, cash, cashRows] = [0, 0, 0];
  const reportProblem = (number: number, column: number | null, message: string): void => {
    if (++problemCount <= PROBLEMS_MAX)
      problems.push(`${unit} ${number}${column === null ? '' : `, column ${column + 1}`}: ${message}`);
  };

  function addOwn({ cells, number }: TableRow): void {
    for (const { name, form, at } of columns.own) {
      const text = cells[at]!;
      if (text === '') continue;
      const before = texts.get(name);
      if (before !== undefined && before !== text)
        reportProblem(number, at, `${name} is ${text}, but ${before} on ${unit} ${ownValues[name]}; state it once`);
      if (before !== undefined) continue;
      texts.set(name, text);
      ownValues[name] = number;
      setPath(account, name, parseValue(text, form));
    }
  }

  function addCash({ cells, number }: TableRow): void {
    const value = parseValue(cells[columns.shares]!, 'number');
    if (typeof value === 'number') cash += value;
    else reportProblem(number, columns.shares, `${JSON.stringify(value)} is not a number`);
    cashRows++;
  }

  function addHolding({ cells, number }: TableRow): void {
    const readCell = (position: number, isNumber: boolean): unknown =>
      position < 0 || cells[position] === ''
        ? undefined
        : isNumber
          ? parseValue(cells[position]!, 'number')
          : cells[position];
    const [identifier, shares, cost] = [
      readCell(columns.identifier, false),
      readCell(columns.shares, true),
      readCell(columns.cost, true),
    ];
    const [acquired, bought, traded, price] = [
      readCell(columns.acquired, false),
      readCell(columns.bought, false),
      readCell(columns.traded, false),
      readCell(columns.price, true),
    ];
    if ([identifier, shares, cost, acquired, bought, traded, price].every((value) => value === undefined)) return;
    if (traded !== undefined) {
      if (acquired !== undefined) reportProblem(number, columns.acquired, 'a recent trade has no acquired');
      if (bought !== undefined) reportProblem(number, columns.bought, 'a recent trade has no bought');
      recent.push({ identifier, date: traded, shares, price, cost });
      source.recent.push(number);
      return;
    }
    if (price !== undefined)
      reportProblem(number, columns.price, 'a lot has no price, only a recent trade with traded');
    lots.push({ identifier, shares, cost, acquired, ...(bought !== undefined && { bought }) });
    source.lines.push(number);
  }

  return {
    id,
    add(row) {
      const { cells, number } = row;
      if (cells.length !== header.length)
        return reportProblem(number, null, `${cells.length} cells; the header has ${header.length}`);
      for (const position of columns.unnamed)
        if (cells[position] !== '') reportProblem(number, position, 'the column has no name');
      addOwn(row);
      if (cells[columns.identifier] === CASH) addCash(row);
      else addHolding(row);
    },
    end() {
      if (cashRows > 0 && texts.has('cash'))
        reportProblem(ownValues['cash']!, null, 'cash is also stated in rows of CASH');
      else if (cashRows > 0) account['cash'] = cash;
      const places = { ...source, own: ownValues, problems, problem_count: problemCount };
      // The id is the last member, because `findAccountId` searches for it from the end.
      return JSON.stringify({ ...account, lots, recent, source: places, account_id: id });
    },
  };
}

/** Sets a value at a path of member names. */
function setPath(into: Record<string, unknown>, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop()!; // a path has at least one name
  let target = into;
  for (const name of names) target = (target[name] ??= {}) as Record<string, unknown>;
  target[last] = value;
}

/** Moves fields such as `tax.short_rate` into nested objects. The table has one row per account. */
export function createNestedFields(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const account: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) if (!name.includes('.')) account[name] = value;
  for (const [name, value] of Object.entries(row)) if (name.includes('.')) setPath(account, name, value);
  return account;
}

/**
 * Asserts that a table with one row per account has only known columns. @throws Refusal VALIDATION_FAILED with every
 * unknown column
 */
export function assertAccountColumns(header: readonly string[]): void {
  const columnNames = [
    ...new Set(['account_id', 'lots', 'recent', 'tax', ...listOwnColumns().map(({ name }) => name)]),
  ];
  const findings = header.flatMap((name, position) =>
    columnNames.includes(name) ? [] : [reportUnknownColumn(name, `column ${position + 1}`, columnNames)],
  );
  if (findings.length > 0) throw refuseWithFindings('body', addColumns(findings, columnNames));
}

function reportUnknownColumn(name: string, path: string, columnNames: readonly string[]): Finding {
  const qualifiedName = columnNames.find((own) => own.endsWith(`.${name}`));
  const hint = qualifiedName === undefined ? suggestName(name, columnNames) : ` Did you mean ${qualifiedName}?`;
  const message = `${path}: unknown column ${name}.${hint}`;
  return { severity: 'error', code: 'UNKNOWN_FIELD', path, message, accepted: columnNames };
}

/** Adds the list of known columns to the first finding about an unknown column. */
function addColumns(findings: readonly Finding[], columnNames: readonly string[]): Finding[] {
  const first = findings.findIndex(({ code }) => code === 'UNKNOWN_FIELD');
  return findings.map((finding, position) =>
    position === first
      ? { ...finding, message: `${finding.message} The columns are ${columnNames.join(', ')}.` }
      : finding,
  );
}

function createProblem(path: string, reason: string, code: Finding['code'] = 'WRONG_TYPE'): Finding {
  return { severity: 'error', code, path, message: `${path}: ${reason}.` };
}
