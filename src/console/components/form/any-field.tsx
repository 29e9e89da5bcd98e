import type { Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formatMessageAt } from '../../words/findings.js';
import { isObject, formatPath, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { Expression } from './expression.js';
import { renderCode, Field, FieldGrid } from './field.js';
import { createField, isApplicable, withLabelledHelp, type FieldSpec } from './field-spec.js';

export interface AnyFieldProps {
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  /** Findings of the whole document or only of this field. */
  readonly findings: readonly Finding[];
  /** Path of the value in findings. */
  readonly path: Path;
  readonly datapoints: readonly string[];
  readonly isDisabled?: boolean;
  onChange(value: Json | undefined): void;
}

/** Renders a field, or the fields of an object or of a list of objects. */
export function AnyField(props: AnyFieldProps) {
  const { spec, path, findings } = props;
  const text = formatPath(path);
  const isWhole = spec.kind !== 'text' && spec.kind !== 'choice';
  const ownFindings = findings.filter(
    ({ path: one }) => one === text || (isWhole && (one.startsWith(`${text}.`) || one.startsWith(`${text}[`))),
  );
  if (spec.kind === 'expression') return <Expression {...props} findings={ownFindings} />;
  if (spec.members === undefined) return <Field {...props} findings={ownFindings} />;
  const members =
    spec.kind === 'rows' ? <Rows {...props} findings={ownFindings} /> : <Members {...props} findings={ownFindings} />;
  const content = (
    <>
      {spec.help != null && <p class="field-help">{renderCode(spec.help)}</p>}
      {ownFindings
        .filter(({ path: one }) => one === text)
        .map((finding) => (
          <p key={finding.code} class={isProblem(finding) ? 'down' : 'quiet'}>
            {formatMessageAt(finding, spec.name, spec.label)}
          </p>
        ))}
      {members}
    </>
  );
  if (spec.kind === 'object' && spec.isRequired !== true)
    return (
      <Optional label={spec.label} isSet={props.value !== undefined || ownFindings.some(isProblem)}>
        {content}
      </Optional>
    );
  return (
    <fieldset class="field-group">
      <legend>{spec.label}</legend>
      {content}
    </fieldset>
  );
}

/** Time in ms after a group was opened in which a click does not close it. */
const REACTION_MS = 400;

/** Returns true for findings that must be visible. Only findings about applied defaults need not be visible. */
export const isProblem = ({ severity }: Finding): boolean => severity !== 'info';

interface OptionalProps {
  readonly label: string;
  /** True if the object has a value or a problem. The group is then open. */
  readonly isSet: boolean;
  readonly children: ComponentChildren;
}

/** Renders an optional object as a group that can be folded. */
export function Optional({ label, isSet, children }: OptionalProps) {
  const [isOpen, setOpen] = useState(isSet);
  const openedAt = useRef(-Infinity);
  useLayoutEffect(() => {
    if (!isSet) return;
    openedAt.current = performance.now();
    setOpen(true);
  }, [isSet]);
  return (
    <details
      class="field-group"
      role="group"
      aria-label={label}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary
        onClick={(event) => {
          // The group was opened automatically just before this click. The click was meant to open it, so it stays
          // open.
          if (isOpen && event.timeStamp - openedAt.current < REACTION_MS) event.preventDefault();
        }}
      >
        {label}
      </summary>
      {isOpen && children}
    </details>
  );
}

/**
 * Renders the members of an object. Members that do not apply, because of the values of other members, are left out.
 */
function Members({ spec, value, path, findings, datapoints, isDisabled = false, onChange }: AnyFieldProps) {
  const members = spec.members ?? [];
  const object: JsonObject = isObject(value) ? value : {};
  const put = (name: string, memberValue: Json | undefined) => {
    const { [name]: _, ...others } = object;
    const rest = Object.keys(others).length === 0 ? undefined : others; // an object without members is removed from the document
    onChange(memberValue === undefined ? rest : { ...object, [name]: memberValue });
  };
  return (
    <FieldGrid>
      {members
        .filter((member) => isApplicable(member, members, object))
        .map((member) => (
          <AnyField
            key={member.name}
            spec={withLabelledHelp(createField(member), members)}
            value={object[member.name]}
            findings={findings}
            path={[...path, member.name]}
            datapoints={datapoints}
            isDisabled={isDisabled}
            onChange={(own) => put(member.name, own)}
          />
        ))}
    </FieldGrid>
  );
}

const Rows = (props: AnyFieldProps) => (
  <FieldRows
    label={props.spec.label}
    value={props.value}
    onChange={props.onChange}
    row={(row, position, put) => <Members {...props} value={row} path={[...props.path, position]} onChange={put} />}
  />
);

interface FieldRowsProps {
  readonly label: string;
  readonly value: Json | undefined;
  onChange(value: Json | undefined): void;
  /** Renders the fields of a row. */
  readonly row: (row: Json, position: number, onChange: (row: Json | undefined) => void) => ComponentChildren;
}

/** Renders a list of objects with buttons that add and remove rows. */
export function FieldRows({ label, value, onChange, row: fields }: FieldRowsProps) {
  const rows = Array.isArray(value) ? (value as readonly Json[]) : [];
  const put = (next: readonly Json[]) => onChange(next.length === 0 ? undefined : next);
  return (
    <>
      {rows.map((row, position) => (
        <div key={position} class="field-row" role="group" aria-label={`${label}, row ${position + 1}`}>
          {fields(row, position, (own) => put(rows.map((other, i) => (i === position ? (own ?? {}) : other))))}
          <Button
            kind="bare"
            aria-label={`Remove row ${position + 1} of ${label}`}
            onClick={() => put(rows.filter((_, i) => i !== position))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button aria-label={`Add to ${label}`} onClick={() => put([...rows, {}])}>
        <Icon name="plus" /> Add
      </Button>
    </>
  );
}
