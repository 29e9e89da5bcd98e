import type { MemberSpec, ParameterSpec } from '#clients/typescript/divisor.js';
import { isObject, valueAt, addValue, type Json } from '../../words/paths.js';

export type FieldKind =
  | 'text'
  | 'prose'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  /** Any of several, in the order in which they are chosen. */
  | 'choices'
  | 'date'
  | 'list'
  /** Integers, separated like the items of a list. */
  | 'integers'
  | 'datapoint'
  /** An expression of datapoints, as text. */
  | 'formula'
  /** The identifier of a series of the served market. */
  | 'series'
  /** Text, or an object with further members. */
  | 'named'
  /** Text, or an integer. */
  | 'numbered'
  /** A datapoint as an object: `{ node: "field", name }`. */
  | 'node'
  /** Names with a text each. */
  | 'pairs'
  /** Names with a number each. */
  | 'numbers'
  /** Object or list of objects, with its own members. */
  | 'object'
  | 'rows'
  /** List of objects of several kinds. */
  | 'kinds'
  /** A condition on datapoints: a tree of comparisons. */
  | 'expression'
  /** A number, yes or no, or a text; or a list of them. */
  | 'scalar'
  | 'scalars'
  | 'json';

/** One field of a form. */
export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly isRequired?: boolean;
  /** The value used when none is given. */
  readonly otherwise?: unknown;
  readonly choices?: readonly string[];
  /** Labels of its choices, if the choices themselves are not readable. */
  readonly words?: Readonly<Record<string, string>>;
  /** True if its choices are numbers, or if a formula may be a number. */
  readonly isNumeric?: boolean;
  /** Suggestions; other text is accepted, too. */
  readonly suggestions?: readonly string[];
  readonly help?: string | null;
  readonly unit?: string | null;
  /** Page on which choices are created. */
  readonly link?: { readonly address: string; readonly text: string };
  /** Members of an object, or of each row. */
  readonly members?: readonly MemberSpec[];
  /** Expected result of a formula, if it is not a number. */
  readonly expects?: 'condition';
  /** Lines of a text of several lines. */
  readonly rows?: number;
  /** True if it takes a full line. */
  readonly isWide?: boolean;
}

/** Creates a field from a parameter of a catalogue. */
export function fieldOf(parameter: MemberSpec & Partial<Pick<ParameterSpec, 'fields'>>): FieldSpec {
  const { name, label, required, choices, help, default: otherwise, fields: members = null } = parameter;
  const [words = '', unit = null] = (help ?? '').split(/(?:^| )Unit: /);
  const kind = kindOf(parameter);
  return {
    name,
    label,
    kind: members === null && HAS_MEMBERS.has(kind) ? 'json' : kind,
    isRequired: required,
    otherwise,
    ...(choices === null ? {} : { choices }),
    ...(choices === null && parameter.format !== 'expression'
      ? {}
      : { isNumeric: parameter.type === 'integer' || parameter.type === 'number' }),
    ...(members === null ? {} : { members }),
    help: words === '' ? null : words,
    unit: unit?.replace(/\.$/, '') ?? null,
  };
}

/** Returns true if a parameter applies given the values of the others, including defaults. */
export function isRead({ when }: MemberSpec, others: readonly MemberSpec[], value: Json | undefined): boolean {
  const read = (name: string) =>
    valueAt(value, [name]) ?? others.find((other) => other.name === name)?.default ?? undefined;
  return (
    when === null || when.some((all) => Object.entries(all).every(([name, own]) => own.includes(String(read(name)))))
  );
}

/**
 * Returns an object without members that its other members make irrelevant, such as those of another kind of a union.
 */
export function withoutUnread(members: readonly MemberSpec[], value: Json): Json {
  const unread = isObject(value)
    ? members.filter(({ name }) => name in value).filter((m) => !isRead(m, members, value))
    : [];
  return unread.reduce((rest, { name }) => addValue(rest, [name], undefined), value);
}

/**
 * Kinds of fields with members. Inside another object they are JSON, because its catalogue does not list their members.
 */
const HAS_MEMBERS: ReadonlySet<FieldKind> = new Set(['object', 'rows']);

/** Names of parameters that name a column or a datapoint. */
const DATAPOINTS = /(?:^|_)field$|^group_by$/;

const FORMATS: Partial<Record<NonNullable<MemberSpec['format']>, FieldKind>> = {
  date: 'date',
  prose: 'prose',
  texts: 'list',
  integers: 'integers',
  numbers: 'numbers',
  object: 'object',
  rows: 'rows',
  series: 'series',
  expression: 'formula',
};

function kindOf({ name, type, choices, ref, format }: MemberSpec): FieldKind {
  if (choices !== null) return 'choice';
  if (ref === 'ExpressionNode') return 'expression';
  const formatted = format === null ? undefined : FORMATS[format];
  if (formatted !== undefined) return formatted;
  if (type === 'string') return DATAPOINTS.test(name) ? 'datapoint' : 'text';
  if (ref === 'FieldNode') return 'node';
  return type;
}
