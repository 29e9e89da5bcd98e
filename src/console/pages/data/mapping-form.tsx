import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import { createFields } from '../../components/form/schema-fields.js';
import { Answered } from '../../components/wait.js';
import { useSchemas } from '../../state/schemas.js';
import type { JsonObject } from '../../words/paths.js';

/** Members that apply only to wide tables. */
const WIDE_LAYOUT_FIELDS = new Set(['field', 'fields']);

const ENCODING_WORDS: Readonly<Record<string, string>> = {
  'utf-8': 'UTF-8',
  'windows-1252': 'Windows-1252, Western European',
  'windows-1250': 'Windows-1250, Central European',
  'utf-16le': 'UTF-16, little endian',
  'utf-16be': 'UTF-16, big endian',
};

/** Labels and help texts that replace those of the OpenAPI document. An empty field of the form means null. */
const FIELD_PHRASES: Readonly<Record<string, Partial<FieldSpec>>> = {
  identifier_from: {
    help: 'Empty: a column contains the identifier. Otherwise it is part of the file or sheet name, for example `file:{identifier}_data.csv`; files with other names are not read.',
  },
  date_format: {
    help: 'Empty: YYYY-MM-DD. Otherwise a pattern of YYYY, YY, MMM, MM, M, DD and D, for example `D/M/YYYY`, or `epoch_s`, `epoch_ms`, `epoch_us` or `epoch_ns`. A time of day is ignored.',
  },
  encoding: { otherwise: 'utf-8', words: ENCODING_WORDS },
  field: {
    label: 'Field of the numbers',
    help: 'The field of a wide table, for example CLOSE. Empty: a second header row names the field of each column.',
  },
  fields: { label: 'Numbers by table' },
  thousands: {
    label: 'Thousands separator',
    help: 'Used with a decimal point: 1,234.5.',
  },
  ignore: { help: 'Columns, files and sheets to ignore, separated by commas.' },
};

interface MappingFormProps {
  readonly mapping: JsonObject;
  readonly unsure: InspectResult['unsure'];
  /** Findings about the mapping, with a path that begins with `mapping.`. */
  readonly findings: readonly Finding[];
  onChange(mapping: JsonObject): void;
}

/** Renders the mapping of a market with one field per member. Uncertain members show why next to their field. */
export function MappingForm({ mapping, unsure, findings, onChange }: MappingFormProps) {
  const schemas = useSchemas();
  const isWide = mapping['layout'] === 'wide';
  return (
    <Answered resource={schemas} what="the fields of a mapping">
      {(all) => (
        <FieldGrid>
          {createFields(all, 'Mapping')
            .filter(({ name }) => isWide || !WIDE_LAYOUT_FIELDS.has(name))
            .map((spec) => (
              <Field
                key={spec.name}
                spec={{ ...spec, ...FIELD_PHRASES[spec.name] }}
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
