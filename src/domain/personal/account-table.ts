import { z } from 'zod';
import { suggestName } from '#base/nearest-name.js';
import { callOnce } from '#base/once.js';
import type { Finding } from '../base/findings.js';
import { refuseWithFindings } from '../base/refusals.js';
import { Account, AccountLot, RecentTrade } from './account.js';

export type ColumnForm = 'text' | 'number' | 'date' | 'list' | 'groups' | 'weights';

interface AccountColumn {
  readonly name: string;
  readonly form: ColumnForm;
  readonly help: string;
  /** Field of the account, lot or recent trade, such as `tax.short_rate`, `lots.shares`, `recent.date`. */
  readonly field: string;
}

/** Identifier of a row whose shares are the cash of its account. */
const CASH = 'CASH';
/** Separators between the entries of a list and between its groups; no identifier contains them. */
export const ENTRY = '/';
export const GROUP = '//';

const REQUIRED_COLUMNS: readonly string[] = ['account_id', 'identifier', 'shares', 'cost', 'acquired'];

/** Returns the columns of a row. A row is a lot; if it has the day `traded`, it is a recent trade. */
const listRowColumns = (): readonly AccountColumn[] => [
  ...Object.entries(AccountLot.shape).map(([name, schema]) => {
    const column = createColumn(name, schema, `lots.${name}`);
    return name === 'identifier'
      ? { ...column, help: `Security. For a row of cash, ${CASH}, with the amount in shares.` }
      : column;
  }),
  {
    ...createColumn('traded', RecentTrade.shape.date, 'recent.date'),
    help: 'Day of a recent trade. The row then describes no lot.',
  },
  createColumn('price', RecentTrade.shape.price, 'recent.price'),
];

/** Fields that are no columns of the account: its rows, and the rules that are documents. */
const NOT_OWN = /^(?:account_id|lots|recent|transactions|tax\.regime\b.*)$/u;

/** Returns the columns of the account. Several rows of an account may state them, with equal values. */
const listOwnColumns = callOnce((): readonly AccountColumn[] =>
  listColumnsBelow(Account, '').filter(({ name }) => !NOT_OWN.test(name)),
);

/**
 * Returns all columns: the account id, the columns of rows, and other fields of the account. They follow from the
 * fields of `Account`.
 */
export const listAccountColumns = callOnce((): readonly AccountColumn[] => [
  createColumn('account_id', Account.shape.account_id, 'account_id'),
  ...listRowColumns(),
  ...listOwnColumns(),
]);

function listColumnsBelow(schema: z.ZodType, prefix: string): AccountColumn[] {
  const innerSchema = findInnerSchema(schema);
  if (!(innerSchema instanceof z.ZodObject)) return [createColumn(prefix, schema, prefix)];
  return Object.entries(innerSchema.shape).flatMap(([name, own]) =>
    listColumnsBelow(own as z.ZodType, prefix === '' ? name : `${prefix}.${name}`),
  );
}

function createColumn(name: string, schema: z.ZodType, field: string): AccountColumn {
  return {
    name,
    form: findForm(findInnerSchema(schema)),
    help: schema.description ?? findInnerSchema(schema).description ?? '',
    field,
  };
}

/** Returns the schema within optional, nullable and default wrappers. */
function findInnerSchema(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable
    ? findInnerSchema(schema.unwrap() as z.ZodType)
    : schema;
}

function findForm(schema: z.ZodType): ColumnForm {
  if (schema instanceof z.ZodNumber) return 'number';
  if (schema instanceof z.ZodRecord) return 'weights';
  if (schema instanceof z.ZodArray) return schema.element instanceof z.ZodArray ? 'groups' : 'list';
  return schema.meta()?.['format'] === 'date' ? 'date' : 'text';
}

/**
 * Returns the value of a cell. If the text does not have the form of the column, it remains a text, and the check of
 * the account reports it. @param text must not be empty
 */
function parseValue(text: string, form: ColumnForm): unknown {
  switch (form) {
    case 'number':
      return parseNumber(text);
    case 'list':
      return splitEntries(text, ENTRY);
    case 'groups':
      return splitEntries(text, GROUP).map((group) => splitEntries(group, ENTRY));
    case 'weights':
      return Object.fromEntries(splitEntries(text, ENTRY).map((entry) => parseWeight(entry)));
    default:
      return text;
  }
}

/** Formats a value as a cell: the inverse of `parseValue`. */
function formatCell(value: unknown, form: ColumnForm): string {
  if (value === undefined || value === null) return '';
  if (form === 'list') return (value as readonly string[]).join(ENTRY);
  if (form === 'groups') return (value as readonly (readonly string[])[]).map((group) => group.join(ENTRY)).join(GROUP);
  if (form === 'weights')
    return Object.entries(value as Readonly<Record<string, number>>)
      .map(([name, weight]) => `${name}=${weight}`)
      .join(ENTRY);
  return String(value as string | number);
}

const splitEntries = (text: string, separator: string): string[] =>
  text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');

function parseWeight(entry: string): readonly [string, unknown] {
  const position = entry.lastIndexOf('=');
  return position < 0 ? [entry, ''] : [entry.slice(0, position).trim(), parseNumber(entry.slice(position + 1).trim())];
}

function parseNumber(text: string): number | string {
  const value = Number(text);
  return text === '' || !Number.isFinite(value) ? text : value;
}

/** Maximum number of unreadable rows that are listed per account. Further ones are only counted. */
const PROBLEMS_MAX = 50;

/**
 * Rows of a table, with their numbers for messages. A text counts all lines including the header; otherwise rows are
 * counted without the header.
 */
export interface AccountTableRows {
  readonly unit: 'line' | 'row';
  readonly header: readonly string[];
  readonly rows: AsyncIterable<TableRow>;
}

export interface TableRow {
  readonly cells: readonly string[];
  readonly number: number;
}

/** Locations of the values of an account in a table. Findings refer to them. */
export interface AccountTableSource {
  readonly unit: 'line' | 'row';
  readonly columns: readonly string[];
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

export function locateInTable({ unit, columns, line, lines, recent, own }: AccountTableSource, path: string): string {
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
export async function* parseAccountTable({ unit, header, rows }: AccountTableRows): AsyncGenerator<string> {
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
function findColumns(header: readonly string[], unit: AccountTableRows['unit']): Columns {
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
  end(): string;
}

interface AccountLocation {
  readonly unit: AccountTableRows['unit'];
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

export interface StatedAccount {
  readonly account_id: string;
  readonly lots?: readonly Readonly<Record<string, unknown>>[];
  readonly recent?: readonly Readonly<Record<string, unknown>>[];
  readonly [field: string]: unknown;
}

/** Returns the rows of a table of accounts below its header; `parseAccountTable` is the inverse. */
export function createAccountTable(accounts: readonly StatedAccount[]): string[][] {
  const rows = accounts.flatMap((account) => {
    const { account_id, lots = [], recent = [] } = account;
    const accountCells = listOwnColumns().map(
      ({ name, form }) => [name, formatCell(getAtPath(account, name), form)] as const,
    );
    const tradeRows = [...lots, ...recent.map(({ date, ...trade }) => ({ ...trade, traded: date }))];
    return (tradeRows.length === 0 ? [{}] : tradeRows).map((row, position) => ({
      account_id,
      ...row,
      ...(position === 0 ? Object.fromEntries(accountCells) : {}),
    }));
  });
  return rows.map((row: Readonly<Record<string, unknown>>) =>
    listAccountColumns().map(({ name }) =>
      typeof row[name] === 'number' ? String(row[name]) : ((row[name] as string) ?? ''),
    ),
  );
}

const getAtPath = (account: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], account);

/** Example accounts of the template; each column has a value in one of them. */
export const EXAMPLE_ACCOUNTS: readonly StatedAccount[] = [
  {
    account_id: 'EXAMPLE-1',
    cash: 25_000,
    lots: [
      { identifier: 'EXMPL-A', shares: 120, cost: 80.5, acquired: '2022-03-01' },
      { identifier: 'EXMPL-A', shares: 40, cost: 131.2, acquired: '2024-11-04' },
      { identifier: 'EXMPL-B', shares: 300, cost: 21.75, acquired: '2023-06-15', bought: '2024-01-08' },
    ],
    recent: [{ identifier: 'EXMPL-B', date: '2024-12-16', shares: -50, price: 19.4, cost: 24 }],
    exclusions: ['EXMPL-C', 'EXMPL-D'],
    tilts: { 'EXMPL-A': 0.01, 'EXMPL-B': -0.005 },
    tracking_error_limit: 0.02,
    minimum_trade: 250,
    substitutes: [
      ['EXMPL-A', 'EXMPL-E'],
      ['EXMPL-B', 'EXMPL-F'],
    ],
    tax: {
      short_rate: 0.408,
      long_rate: 0.238,
      carry_forward: 3000,
      realised: { short: -1200, long: 4500 },
      wash_sale_days: 30,
      wash_sales: 'forbid',
      lot_method: 'hifo',
      netting: 'us',
      weight: 1,
      loss_value: 0.1,
      budget: 10_000,
      limit: 2500,
    },
  },
  {
    account_id: 'EXAMPLE-2',
    cash: 100_000,
    lots: [],
    recent: [],
    tax: { short_rate: 0.24, long_rate: 0.15, realised_by_pot: { short: -300 }, carried_by_pot: { long: 1500 } },
  },
];

/** Returns the template of a table of accounts as CSV: all columns, and two example accounts to replace. */
export function createAccountTemplate(): string {
  const lines = [listAccountColumns().map(({ name }) => name), ...createAccountTable(EXAMPLE_ACCOUNTS)];
  return `${lines.map((cells) => cells.join(',')).join('\r\n')}\r\n`;
}
