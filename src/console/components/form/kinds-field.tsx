import type { Finding } from '#clients/typescript/divisor.js';
import { findKindMember, findMemberSchema, useSchemas } from './schema-form.js';
import type { Json, Path } from '../../words/paths.js';
import { Answered } from '../feedback.js';
import { isProblem, Optional } from './any-field.js';
import { renderCode } from './field.js';
import type { FieldSpec } from './field-spec.js';
import { KindList, listRows } from './row-list.js';

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
