import type { Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { useFindingField } from '../../state/finding-fields.js';
import type { Json } from '../../words/paths.js';
import { isMissing, formatMessageAt, listNearest } from '../../words/findings.js';
import { formatFormHelp, findChoiceHelp, writeNames } from '../../words/help.js';
import { isFraction } from '../../words/quantities.js';
import { Button } from '../button.js';
import { isCheckbox } from './boolean-input.js';
import { FieldControl } from './field-control.js';
import { formatChoiceText, type FieldSpec } from './field-spec.js';
import '../control.css';
import './form.css';

interface FieldProps {
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  /** Findings of the service about the field. */
  readonly findings: readonly Finding[];
  /** Notes on an uncertain value of the field. */
  readonly notes?: readonly string[];
  /** Datapoint names that are suggested. */
  readonly datapoints?: readonly string[];
  readonly isDisabled?: boolean;
  onChange(value: Json | undefined): void;
}

/** Renders a field with its label, unit, help and findings. */
export function Field({
  spec,
  value,
  findings,
  notes = [],
  datapoints = [],
  isDisabled = false,
  onChange,
}: FieldProps) {
  const id = useId();
  const [isTouched, setTouched] = useState(false);
  // An empty required field shows a star and not an error until it is edited for the first time.
  const items = isTouched ? findings : findings.filter((finding) => !isMissing(finding));
  const { label, unit, isRequired = false, kind, link } = spec;
  useFindingField(findings, { id: `${id}-field`, member: spec.name, label });
  const hint = items.length + notes.length > 0 ? `${id}-said` : undefined;
  const helpText = formatHelp(spec, value);
  const describedBy = [helpText === '' ? undefined : `${id}-help`, hint].filter(Boolean).join(' ');
  return (
    <div
      id={`${id}-field`}
      class={`field kind-${kind}${listClasses(spec, value)}`}
      onFocusOut={() => setTouched(true)}
      onChange={() => setTouched(true)}
    >
      <label for={id}>
        {label}
        {isRequired && <RequiredMark />}
        {isShort(unit) && !isFraction(unit) && !label.toLowerCase().endsWith(unit) && (
          <span class="quiet"> {unit}</span>
        )}
      </label>
      <FieldControl
        id={id}
        spec={spec}
        value={value}
        describedBy={describedBy === '' ? undefined : describedBy}
        findings={items}
        isDisabled={isDisabled}
        datapoints={datapoints}
        onChange={onChange}
      />
      {helpText !== '' && (
        <p id={`${id}-help`} class="field-help">
          {renderCode(formatFormHelp(helpText))}
        </p>
      )}
      {link !== undefined && (
        <p class="field-help">
          <a href={link.address}>{link.text}</a>
        </p>
      )}
      {hint !== undefined && <FieldFindings id={hint} spec={spec} findings={items} notes={notes} onChange={onChange} />}
    </div>
  );
}

const listClasses = (spec: FieldSpec, value: Json | undefined): string =>
  [
    spec.isWide === true ? ' is-wide' : spec.isDouble === true ? ' is-double' : '',
    isCheckbox(spec, value) ? ' is-checkbox' : '',
  ].join('');

const RequiredMark = () => (
  <span class="field-required" title="required">
    {' '}
    *
  </span>
);

/**
 * Returns the help text of a field for its current value. A unit that is too long for the label is added at its end.
 */
function formatHelp({ kind, help, unit, otherwise, choices, words }: FieldSpec, value: Json | undefined): string {
  const chosenValue = typeof value === 'string' ? value : typeof otherwise === 'string' ? otherwise : undefined;
  const meaning = kind === 'choice' && typeof help === 'string' ? findChoiceHelp(help, chosenValue) : help;
  const texts = new Map((choices ?? []).map((choice) => [choice, `“${formatChoiceText(choice, words)}”`]));
  const text = typeof meaning === 'string' ? writeNames(meaning, texts) : meaning;
  return [text, isShort(unit) || isFraction(unit) ? null : unit && `In ${unit}.`].filter(Boolean).join(' ');
}

interface FieldFindingsProps extends Pick<FieldProps, 'spec' | 'findings' | 'onChange'> {
  readonly id: string;
  readonly notes: readonly string[];
}

/** Renders findings about a field, suggestions for an unknown name, and notes. */
function FieldFindings({ id, spec: { name: member, label, kind }, findings, notes, onChange }: FieldFindingsProps) {
  const names = findings.flatMap(listSuggestions);
  return (
    <ul id={id} class="field-findings">
      {findings.map((finding) => (
        <li
          key={`${finding.code} ${finding.path} ${finding.message}`}
          class={finding.severity === 'error' ? 'down' : 'field-warning'}
        >
          {formatMessageAt(finding, member, label)}
        </li>
      ))}
      {names.length > 0 && (
        <li>
          Did you mean{' '}
          {names.map((name) => (
            <Button key={name} kind="bare" onClick={() => onChange(kind === 'node' ? { node: 'field', name } : name)}>
              {name}
            </Button>
          ))}
        </li>
      )}
      {notes.map((note) => (
        <li key={note} class="field-warning">
          {note}
        </li>
      ))}
    </ul>
  );
}

/** Returns accepted names that are similar to an unknown name. */
const listSuggestions = ({ code, value, accepted }: Finding): readonly string[] =>
  code === 'UNKNOWN_FIELD_NAME' && typeof value === 'string' ? listNearest(value, accepted ?? []) : [];

/** Renders a help text; passages between backticks are shown as code. */
export const renderCode = (text: string) =>
  text.split('`').map((part, k) => (k % 2 === 1 ? <code key={k}>{part}</code> : part));

/** Returns true if a unit fits next to the label. */
const isShort = (unit: string | null | undefined): unit is string => typeof unit === 'string' && unit.length <= 10;

/** Renders fields side by side. */
export function FieldGrid({ children }: { readonly children: ComponentChildren }) {
  return <div class="field-grid">{children}</div>;
}
