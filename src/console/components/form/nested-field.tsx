import type { Finding } from '#clients/typescript/divisor.js';
import { isObject, formatPath, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { FieldRows, isProblem, Optional } from './any-field.js';
import { renderCode } from './field.js';
import type { FieldSpec } from './field-spec.js';
import { type Changes, SchemaForm, findKindMember, findMemberSchema, useSchemas } from './schema-form.js';
import { Answered } from '../feedback.js';
import { KindList, listRows } from './row-list.js';

interface NestedFieldProps {
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

interface KindsFieldProps {
  /** Schema name and member as one text, such as `ChecksStep.checks`. */
  readonly schema: string;
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  onChange(value: Json | undefined): void;
}

/** Renders a member that is a list of objects of different kinds, each with the form of its kind. */
export function KindsField({
  schema,
  spec: { label, help, words = {} },
  value,
  findings,
  path,
  onChange,
}: KindsFieldProps) {
  const schemas = useSchemas();
  const rows = listRows(value);
  return (
    <Optional label={label} isSet={rows.length > 0 || findings.some(isProblem)}>
      {help != null && <p class="small field-help">{renderCode(help)}</p>}
      <Answered resource={schemas} what="the fields">
        {(all) => {
          const member = findKindMember(all, findMemberSchema(all, schema)) ?? 'type';
          return (
            <KindList
              what={member}
              rows={rows}
              member={member}
              formatName={(kind) => words[kind] ?? kind.replaceAll('_', ' ')}
              selectSchema={() => findMemberSchema(all, schema).items ?? {}}
              path={path}
              findings={findings}
              fresh={() => ({})}
              onChange={(next) => onChange(next.length === 0 ? undefined : next)}
            />
          );
        }}
      </Answered>
    </Optional>
  );
}
