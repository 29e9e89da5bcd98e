import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { useStores } from '../../state/stores.js';
import type { JsonObject } from '../../words/paths.js';
import { PRICE_BASIS } from '../../words/price-basis.js';

/** Settings that every new store has. */
const COMMON_FIELDS: readonly FieldSpec[] = [
  { name: 'name', label: 'Name', kind: 'text', isRequired: true },
  { name: 'store_id', label: 'Id', kind: 'text', help: 'Default: derived from the name.' },
  {
    name: 'adjustment',
    label: 'Price basis',
    kind: 'choice',
    choices: Object.keys(PRICE_BASIS),
    words: PRICE_BASIS,
    isRequired: true,
    help: 'Adjustments that the closes already contain; `as traded`: none.',
  },
  {
    name: 'currency',
    label: 'Currency',
    kind: 'text',
    help: 'Currency of securities without a CURRENCY value; three letters.',
  },
  {
    name: 'activate',
    label: 'Serve the store now',
    kind: 'boolean',
    otherwise: false,
    help: 'Requests without a store use the served store.',
  },
];

interface StoreFieldsProps {
  /** Fields that only this kind of store has. */
  readonly more?: readonly FieldSpec[];
  readonly value: JsonObject;
  readonly findings: readonly Finding[];
  /** Uncertainties of the inspection, each shown at its field. */
  readonly unsure?: InspectResult['unsure'];
  /** Store that the service serves; null if there is none. */
  readonly served: string | null;
  onChange(value: JsonObject): void;
}

export function StoreFields({ more = [], value, findings, unsure = [], served, onChange }: StoreFieldsProps) {
  return (
    <FieldGrid>
      {[...more, ...COMMON_FIELDS].map((spec) => (
        <Field
          key={spec.name}
          spec={spec}
          value={value[spec.name]}
          notes={[
            ...unsure.flatMap(({ field, question }) => (field === spec.name ? [question] : [])),
            ...(spec.name === 'activate' ? listServingEffects(served, value['activate'] === true) : []),
          ]}
          findings={findings.filter(({ path }) => path === spec.name || path.startsWith(`${spec.name}.`))}
          onChange={(next) => onChange({ ...value, [spec.name]: next })}
        />
      ))}
    </FieldGrid>
  );
}

/** Describes how serving another store affects all users. */
const listServingEffects = (served: string | null, isToServe: boolean): readonly string[] =>
  isToServe && served !== null
    ? [`This replaces ${served} as the served store. Every index must be run again on the securities of the new store.`]
    : [];

/**
 * Returns the served store, and the default of `activate` for a new store. The default is true if no store is served.
 */
export function useServed(): { readonly served: string | null; readonly activate: boolean } {
  const stores = useStores();
  return { served: stores.data?.active ?? null, activate: stores.data?.active === null };
}

/** Returns the findings that no field of the form shows. */
export function listUnplaced(findings: readonly Finding[], more: readonly FieldSpec[] = []): readonly Finding[] {
  const names = new Set([...more, ...COMMON_FIELDS].map(({ name }) => name));
  return findings.filter(({ path }) => !names.has(path.split('.')[0]!)); // the result of a split has at least one part
}
