import type { Finding } from '#clients/typescript/divisor.js';
import { isObject, type Json } from '../../words/paths.js';
import { Button } from '../button.js';
import { renderCode, Field, FieldGrid } from './field.js';
import type { FieldSpec } from './field-spec.js';
import { parseReference, REFERENCE_WORDS } from './references.js';

interface NamedFieldProps {
  readonly spec: FieldSpec;
  /** Fields of the object that can be used instead of a text. */
  readonly members: readonly FieldSpec[];
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly datapoints: readonly string[];
  readonly isDisabled: boolean;
  onChange(value: Json | undefined): void;
}

/** Renders a reference such as `index:EQ` in words. If it has further members, renders the fields of the object. */
export function NamedField({ members, ...props }: NamedFieldProps) {
  const { spec, value, findings, onChange } = props;
  const reference = typeof value === 'string' ? parseReference(value) : undefined;
  if (!isObject(value))
    return (
      <div>
        <Field {...props} />
        {reference !== undefined && (
          <Button kind="bare" onClick={() => onChange(reference)}>
            More fields
          </Button>
        )}
      </div>
    );
  return (
    <fieldset class="field-group">
      <legend>{spec.label}</legend>
      {spec.help != null && <p class="field-help">{renderCode(spec.help)}</p>}
      <FieldGrid>
        {members.map((member) => (
          <Field
            key={member.name}
            {...props}
            spec={member.name === 'kind' ? { ...member, words: REFERENCE_WORDS } : member}
            value={value[member.name]}
            findings={findings.filter(({ path }) => path.endsWith(`.${member.name}`))}
            onChange={(nextValue) => {
              const { [member.name]: _, ...others } = value;
              onChange(nextValue === undefined ? others : { ...value, [member.name]: nextValue });
            }}
          />
        ))}
      </FieldGrid>
      <Button kind="bare" onClick={() => onChange(formatReference(value))}>
        Name only
      </Button>
    </fieldset>
  );
}

function formatReference({ kind, id }: { readonly [name: string]: Json | undefined }): Json | undefined {
  return typeof kind === 'string' && typeof id === 'string' ? `${kind}:${id}` : undefined;
}
