import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { fieldsOf } from '../../components/form/schema-fields.js';
import { Answered } from '../../components/wait.js';
import { useSchemas } from '../../state/schemas.js';
import type { JsonObject } from '../../words/paths.js';

/** Members that say something of wide tables alone. */
const OF_WIDE = new Set(['field', 'fields']);

/** What a form says otherwise than a document has it: an empty field is what null is there. */
const WORDS: Readonly<Record<string, Partial<FieldSpec>>> = {
  identifier_from: {
    help: 'Empty: a column holds it. Otherwise the name of the file or sheet does, as `file:{identifier}_data.csv`; those with another name are not read.',
  },
  date_format: {
    help: 'Empty: YYYY-MM-DD. Otherwise made of YYYY, YY, MMM, MM, M, DD and D, as `D/M/YYYY`, or `epoch_s`, `epoch_ms`, `epoch_us`, `epoch_ns`. A time of day is dropped.',
  },
  field: {
    label: 'Numbers are',
    help: 'Of a wide table, as CLOSE. Empty: each column says it too, in a second header row.',
  },
  fields: { label: 'Numbers by table' },
  thousands: {
    label: 'Mark between thousands',
    help: 'Beside a decimal point: 1,234.5.',
  },
  ignore: { help: 'Columns, files and sheets that are not read, separated by commas.' },
};

interface MappingFormProps {
  readonly mapping: JsonObject;
  readonly unsure: InspectResult['unsure'];
  /** Those of the mapping, at `mapping.` and their member. */
  readonly findings: readonly Finding[];
  onChange(mapping: JsonObject): void;
}

/** How a market is read, a field for each member of the contract's mapping; what is not certain stands beside its field. */
export function MappingForm({ mapping, unsure, findings, onChange }: MappingFormProps) {
  const schemas = useSchemas();
  const isWide = mapping['layout'] === 'wide';
  return (
    <Answered resource={schemas} what="the fields of a mapping">
      {(all) => (
        <FieldGrid>
          {fieldsOf(all, 'Mapping')
            .filter(({ name }) => isWide || !OF_WIDE.has(name))
            .map((spec) => (
              <Field
                key={spec.name}
                spec={{ ...spec, ...WORDS[spec.name] }}
                value={mapping[spec.name]}
                notes={unsure.flatMap(({ field, question }) => (field === spec.name ? [question] : []))}
                findings={findings.filter(
                  ({ path }) => path === `mapping.${spec.name}` || path.startsWith(`mapping.${spec.name}.`),
                )}
                onChange={(value) => onChange({ ...mapping, [spec.name]: value })}
              />
            ))}
        </FieldGrid>
      )}
    </Answered>
  );
}
