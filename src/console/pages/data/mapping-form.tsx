import type { Finding, InspectResult } from '#clients/typescript/divisor.js';
import { Field, FieldGrid } from '../../components/form/field.js';
import { fieldsOf } from '../../components/form/schema-fields.js';
import { Answered } from '../../components/wait.js';
import { useSchemas } from '../../state/schemas.js';
import type { JsonObject } from '../../words/paths.js';

/** Members that say something of wide tables alone. */
const OF_WIDE = new Set(['field', 'fields']);

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
                spec={spec}
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
