import type { Finding } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import type { JsonObject } from '../../words/paths.js';

/** Schemas of the fold settings, by method. */
const SCHEMAS = { combinatorial: 'CombinatorialFolds', walk_forward: 'WalkForwardFolds' } as const;
type Method = keyof typeof SCHEMAS;

const METHODS = Object.keys(SCHEMAS) as readonly Method[];
const isMethod = (value: unknown): value is Method => METHODS.some((method) => method === value);

interface FoldsFormProps {
  /** Settings of the folds; null if the selection of the best variant is not tested. */
  readonly folds: JsonObject | null;
  readonly findings: readonly Finding[];
  onChange(folds: JsonObject | null): void;
}

/**
 * Renders how the backtest period is divided into folds. The folds test the selection of the best variant out of
 * sample.
 */
export function FoldsForm({ folds, findings, onChange }: FoldsFormProps) {
  const method = folds?.['method'];
  return (
    <>
      <FieldGrid>
        <Field
          spec={{
            name: 'folds',
            label: 'Test of the choice',
            kind: 'choice',
            choices: METHODS,
            isRequired: false,
            help: 'Splits the time range so that the best variant of one part is tested on another.',
          }}
          value={isMethod(method) ? method : null}
          findings={findings.filter(({ path }) => path === 'folds')}
          onChange={(value) => onChange(isMethod(value) ? { method: value } : null)}
        />
      </FieldGrid>
      {isMethod(method) && (
        <SchemaForm
          schema={SCHEMAS[method]}
          except={['method']}
          value={folds ?? {}}
          findings={findings}
          path={['folds']}
          onChange={onChange}
        />
      )}
    </>
  );
}
