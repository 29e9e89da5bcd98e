import type { Finding } from '#clients/typescript/divisor.js';
import { Field } from '../../components/form/field.js';
import { createFields } from '../../components/form/schema-fields.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { useSchemas } from '../../state/schemas.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { formatFolds } from './folds-text.js';

/** Schemas of the fold settings, by method. */
const SCHEMAS = { combinatorial: 'CombinatorialFolds', walk_forward: 'WalkForwardFolds' } as const;
type Method = keyof typeof SCHEMAS;

const METHODS = Object.keys(SCHEMAS) as readonly Method[];
const isMethod = (value: unknown): value is Method => METHODS.some((method) => method === value);

interface FoldsFormProps {
  /** Settings of the folds; null if the selection of the best variant is not tested. */
  readonly folds: JsonObject | null;
  /** True if the period is long enough for the default folds. */
  readonly canTest: boolean;
  readonly findings: readonly Finding[];
  onChange(folds: JsonObject | null): void;
}

/**
 * Renders how the backtest period is divided into folds. The folds test the selection of the best variant out of
 * sample.
 */
export function FoldsForm({ folds, canTest, findings, onChange }: FoldsFormProps) {
  const method = folds?.['method'];
  return (
    <>
      <Field
        spec={{
          name: 'folds',
          label: 'Test of the choice',
          kind: 'choice',
          choices: METHODS,
          help: canTest
            ? 'Splits the time range so that the best variant of one part is tested on another.'
            : 'The time range is too short to select the best variant on one part and test it on another.',
        }}
        value={isMethod(method) ? method : null}
        findings={findings.filter(({ path }) => path === 'folds')}
        onChange={(value) => onChange(isMethod(value) ? { method: value } : null)}
      />
      {isMethod(method) && <FoldSettings method={method} folds={folds ?? {}} findings={findings} onChange={onChange} />}
    </>
  );
}

interface FoldSettingsProps {
  readonly method: Method;
  readonly folds: JsonObject;
  readonly findings: readonly Finding[];
  onChange(folds: JsonObject): void;
}

/** Renders the settings of the folds below a summary of their values. */
function FoldSettings({ method, folds, findings, onChange }: FoldSettingsProps) {
  const schemas = useSchemas();
  const settings = (schemas.data === undefined ? [] : createFields(schemas.data, SCHEMAS[method])).map(
    ({ name, otherwise }) => [name, folds[name] ?? (otherwise as Json | undefined)] as const,
  ); // defaults of the schema are JSON
  return (
    <details class="sweep-folds" open={findings.some(({ path }) => path.startsWith('folds.'))}>
      <summary>
        Settings of the test
        <br />
        <span class="quiet">{settings.length > 0 && formatFolds({ ...Object.fromEntries(settings), method })}</span>
      </summary>
      <SchemaForm
        schema={SCHEMAS[method]}
        except={['method']}
        value={folds}
        findings={findings}
        path={['folds']}
        onChange={onChange}
      />
    </details>
  );
}
