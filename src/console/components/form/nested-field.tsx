import type { Finding } from '#clients/typescript/divisor.js';
import { isObject, formatPath, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { FieldRows, isProblem, Optional } from './any-field.js';
import { renderCode } from './field.js';
import type { FieldSpec } from './field-spec.js';
import { type Changes, SchemaForm } from './schema-form.js';

interface NestedFieldProps {
  /** Schema name of the object or of each row. */
  readonly schema: string;
  readonly spec: FieldSpec;
  readonly changes: Changes;
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  onChange(value: Json | undefined): void;
}

/** Renders a member that is an object or a list of objects, with fields for its members. */
export function NestedField({ schema, spec, changes, value, findings, path, onChange }: NestedFieldProps) {
  const { kind, label, help, isRequired } = spec;
  const renderForm = (formValue: Json | undefined, formPath: Path, put: (next: JsonObject) => void) => (
    <SchemaForm
      schema={schema}
      changes={changes}
      value={isObject(formValue) ? formValue : {}}
      findings={findings}
      path={formPath}
      onChange={put}
    />
  );
  const content = (
    <>
      {help != null && <p class="small field-help">{renderCode(help)}</p>}
      {findings
        .filter(({ path: one }) => one === formatPath(path))
        .map((finding) => (
          <p key={finding.code} class={isProblem(finding) ? 'down' : 'quiet'}>
            {finding.message}
          </p>
        ))}
      {kind === 'rows' ? (
        <FieldRows
          label={label}
          value={value}
          onChange={onChange}
          row={(row, formPath, put) => renderForm(row, [...path, formPath], put)}
        />
      ) : (
        renderForm(value, path, (next) => onChange(Object.keys(next).length === 0 ? undefined : next))
      )}
    </>
  );
  if (kind === 'object' && isRequired !== true)
    return (
      <Optional label={label} isSet={isObject(value) || findings.some(isProblem)}>
        {content}
      </Optional>
    );
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>{label}</legend>
      {content}
    </fieldset>
  );
}
