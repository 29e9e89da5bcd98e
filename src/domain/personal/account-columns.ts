import { z } from 'zod';
import { callOnce } from '#base/once.js';
import { Account, AccountLot, RecentTrade } from './account-request.js';

/** Form of the cells of a column. */
export type ColumnForm = 'text' | 'number' | 'date' | 'list' | 'groups' | 'weights';

/** Column of a table of accounts. */
export interface AccountColumn {
  readonly name: string;
  readonly form: ColumnForm;
  readonly help: string;
  /** Field of the account, lot or recent trade, such as `tax.short_rate`, `lots.shares`, `recent.date`. */
  readonly field: string;
}

/** Identifier of a row whose shares are the cash of its account. */
export const CASH = 'CASH';
/** Separators between the entries of a list and between its groups; no identifier contains them. */
export const ENTRY = '/';
export const GROUP = '//';

/** Columns that every table has. */
export const REQUIRED_COLUMNS: readonly string[] = ['account_id', 'identifier', 'shares', 'cost', 'acquired'];

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

/** Returns the columns of the account. Several rows of an account may state them, with equal values. */
export const listOwnColumns = callOnce((): readonly AccountColumn[] =>
  listColumnsBelow(Account, '').filter(({ name }) => !['account_id', 'lots', 'recent'].includes(name)),
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
export function parseValue(text: string, form: ColumnForm): unknown {
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
export function formatCell(value: unknown, form: ColumnForm): string {
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
