import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import type { JsonObject } from '../../words/paths.js';

/** What every new store is told, however it comes. */
const COMMON: readonly FieldSpec[] = [
  { name: 'name', label: 'Name', kind: 'text', isRequired: true },
  { name: 'store_id', label: 'Id', kind: 'text', help: 'Made from the name unless given.' },
  {
    name: 'adjustment',
    label: 'Price basis',
    kind: 'choice',
    choices: ['none', 'splits', 'total'],
    isRequired: true,
    help: 'CLOSE as traded, divided by later splits, or with dividends too. No calendar is asked for: each index names its own, and NOT_A_SESSION reports bars outside of those in use.',
  },
  {
    name: 'currency',
    label: 'Currency',
    kind: 'text',
    help: 'Of names that have no CURRENCY of their own; three letters.',
  },
  { name: 'activate', label: 'Serve it at once', kind: 'boolean', isRequired: true },
];

interface StoreFieldsProps {
  /** Fields beside those of every store. */
  readonly more?: readonly FieldSpec[];
  /** Fields after them. */
  readonly after?: readonly FieldSpec[];
  readonly value: JsonObject;
  readonly findings: readonly Finding[];
  /** What is not certain, each at its field. */
  readonly unsure?: InspectResult['unsure'];
  onChange(value: JsonObject): void;
}

export function StoreFields({ more = [], after = [], value, findings, unsure = [], onChange }: StoreFieldsProps) {
  return (
    <FieldGrid>
      {[...more, ...COMMON, ...after].map((spec) => (
        <Field
          key={spec.name}
          spec={spec}
          value={value[spec.name]}
          notes={unsure.flatMap(({ field, question }) => (field === spec.name ? [question] : []))}
          findings={findings.filter(({ path }) => path === spec.name || path.startsWith(`${spec.name}.`))}
          onChange={(next) => onChange({ ...value, [spec.name]: next })}
        />
      ))}
    </FieldGrid>
  );
}

/** Findings that no field of the form shows. */
export function elsewhere(findings: readonly Finding[], more: readonly FieldSpec[] = []): readonly Finding[] {
  const names = new Set([...more, ...COMMON].map(({ name }) => name));
  return findings.filter(({ path }) => !names.has(path.split('.')[0]!)); // A split text has a first part.
}
