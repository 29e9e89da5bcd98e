import type { MemberSpec, ParameterSpec } from '#clients/typescript/divisor.js';
import { writeNames } from '../../words/form-fields.js';
import { formatWords } from '../../words/labels.js';
import { isObject, getValueAt, addValue, type Json } from '../../words/paths.js';

export type FieldKind =
  | 'text'
  | 'prose'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  /** Any number of choices, in the order in which they were selected. */
  | 'choices'
  | 'date'
  | 'list'
  /** Integers, separated in the same way as the items of a list. */
  | 'integers'
  | 'datapoint'
  /** A formula over datapoints, as text. */
  | 'formula'
  /** Identifier of a series in the served store. */
  | 'series'
  /** A name, or an object with further members. */
  | 'named'
  /** A name or an integer. */
  | 'numbered'
  /** A datapoint as an object: `{ node: "field", name }`. */
  | 'node'
  /** Object with a text value for each name. */
  | 'pairs'
  /** Object with a number for each name. */
  | 'numbers'
  /** An object, or a list of objects, with a field for each member. */
  | 'object'
  | 'rows'
  /** List of objects of different kinds. */
  | 'kinds'
  /** A condition on datapoints: a tree of comparisons. */
  | 'expression'
  /** A number, a boolean or a text, or a list of such values. */
  | 'scalar'
  | 'scalars'
  | 'json';

export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly isRequired?: boolean;
  /** Default value. */
  readonly otherwise?: unknown;
  readonly choices?: readonly string[];
  /** Labels of the choices. Default: the choices themselves. */
  readonly words?: Readonly<Record<string, string>>;
  /** True if the choices are numbers, or if a formula may be a number. */
  readonly isNumeric?: boolean;
  /** Suggested values; other text is also accepted. */
  readonly suggestions?: readonly string[];
  readonly help?: string | null;
  /** Example of a value, shown while the field is empty. */
  readonly example?: string;
  readonly unit?: string | null;
  /** Link to the page on which new choices are created. */
  readonly link?: { readonly address: string; readonly text: string };
  /** Members of an object, or of each row. */
  readonly members?: readonly MemberSpec[];
  /** Expected result type of a formula. Default: number. */
  readonly expects?: 'condition';
  /** Height of a text area in lines. */
  readonly rows?: number;
  /** True if the field takes the full width of the form. */
  readonly isWide?: boolean;
  /** True if the field takes two columns of a wide form. */
  readonly isDouble?: boolean;
  /**
   * Label of a choice that means all values. It is selected if no other choice is. If absent, there is no such choice.
   */
  readonly every?: string;
}

export const formatChoiceText = (choice: string, words: FieldSpec['words']): string =>
  words?.[choice] ?? formatWords(choice);

/** Returns the text for the default value of a field. */
export function formatDefault({ otherwise: given, help, choices, words }: FieldSpec): string {
  // If the schema has no default for an optional member, the help text may name one.
  const defaultChoice = choices?.find((choice) => help?.includes(`Default: ${choice}.`) === true);
  const otherwise = given ?? defaultChoice;
  if (otherwise === undefined || otherwise === null) return 'none';
  const text = String(otherwise);
  return `${formatChoiceText(text, words)}, by default`;
}

/** Writes the names of other fields in the help of a field as their labels. */
export function withLabelledHelp(spec: FieldSpec, fields: readonly Pick<FieldSpec, 'name' | 'label'>[]): FieldSpec {
  if (typeof spec.help !== 'string') return spec;
  const labels = new Map(fields.filter(({ name }) => name !== spec.name).map(({ name, label }) => [name, label]));
  return { ...spec, help: writeNames(spec.help, labels) };
}

export function createField(parameter: MemberSpec & Partial<Pick<ParameterSpec, 'fields'>>): FieldSpec {
  const { name, label, required, choices, help, default: otherwise, fields: members = null } = parameter;
  const [words = '', unit = null] = (help ?? '').split(/(?:^| )Unit: /);
  const kind = detectKind(parameter);
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

/** Returns true if a parameter applies. This depends on the values and defaults of the other parameters. */
export function isApplicable({ when }: MemberSpec, others: readonly MemberSpec[], value: Json | undefined): boolean {
  const read = (name: string) =>
    getValueAt(value, [name]) ?? others.find((other) => other.name === name)?.default ?? undefined;
  return (
    when === null || when.some((all) => Object.entries(all).every(([name, own]) => own.includes(String(read(name)))))
  );
}

/** Removes the members of an object that do not apply, for example members of another kind in a union. */
export function removeInapplicable(members: readonly MemberSpec[], value: Json): Json {
  const unread = isObject(value)
    ? members.filter(({ name }) => name in value).filter((m) => !isApplicable(m, members, value))
    : [];
  return unread.reduce((rest, { name }) => addValue(rest, [name], undefined), value);
}

/**
 * Kinds of fields with members. Inside another object they are edited as JSON, because the catalogue does not list
 * their members.
 */
const HAS_MEMBERS: ReadonlySet<FieldKind> = new Set(['object', 'rows']);

/** Matches the names of parameters whose value is the name of a column or datapoint. */
const DATAPOINT_FIELD_NAME = /(?:^|_)field$|^group_by$/;

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

function detectKind({ name, type, choices, ref, format }: MemberSpec): FieldKind {
  if (choices !== null) return 'choice';
  if (ref === 'ExpressionNode') return 'expression';
  const formatKind = format === null ? undefined : FORMATS[format];
  if (formatKind !== undefined) return formatKind;
  if (type === 'string') return DATAPOINT_FIELD_NAME.test(name) ? 'datapoint' : 'text';
  if (ref === 'FieldNode') return 'node';
  return type;
}
