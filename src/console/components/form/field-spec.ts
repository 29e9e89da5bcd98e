import type { ParameterSpec } from '#clients/typescript/divisor.js';

export type FieldKind =
  | 'text'
  | 'prose'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  | 'date'
  | 'list'
  | 'datapoint'
  /** A datapoint as an object: `{ node: "field", name }`. */
  | 'node'
  /** Names with a text each. */
  | 'pairs'
  /** Names with a number each. */
  | 'numbers'
  | 'json';

/** One field of a form. */
export interface FieldSpec {
  readonly name: string;
  readonly label: string;
  readonly kind: FieldKind;
  readonly isRequired?: boolean;
  /** What is taken without a value. */
  readonly otherwise?: unknown;
  readonly choices?: readonly string[];
  readonly help?: string | null;
  readonly unit?: string | null;
  /** Whether it has a line of its own. */
  readonly isWide?: boolean;
}

/** What the catalogues say of a parameter, as a field. */
export function fieldOf(parameter: ParameterSpec): FieldSpec {
  const { name, label, type, required, choices, help, ref, default: otherwise } = parameter;
  const [words = '', unit = null] = (help ?? '').split(/(?:^| )Unit: /);
  return {
    name,
    label,
    kind: kindOf({ name, type, choices, ref }),
    isRequired: required,
    otherwise,
    ...(choices === null ? {} : { choices }),
    help: words === '' ? null : words,
    unit: unit?.replace(/\.$/, '') ?? null,
  };
}

/** Names of parameters that name a column or a datapoint. */
const DATAPOINTS = /(?:^|_)field$|^group_by$/;
const LISTS = new Set(['identifiers', 'include', 'exclude', 'groups']);

function kindOf({ name, type, choices, ref }: Pick<ParameterSpec, 'name' | 'type' | 'choices' | 'ref'>): FieldKind {
  if (choices !== null) return 'choice';
  if (type === 'string') return DATAPOINTS.test(name) ? 'datapoint' : 'text';
  if (ref === 'FieldNode') return 'node';
  if (type === 'json') return LISTS.has(name) ? 'list' : 'json';
  return type;
}
