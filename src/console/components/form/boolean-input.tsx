import { useRef } from 'preact/hooks';
import type { Json } from '../../words/paths.js';
import type { CommonProps } from './field-control.js';
import { formatDefault, type FieldSpec } from './field-spec.js';

/** Returns true for a boolean without a third state, in which it is not set. */
export const isCheckbox = ({ kind, otherwise, isRequired }: FieldSpec, value: Json | undefined): boolean =>
  kind === 'boolean' && (typeof otherwise === 'boolean' || (isRequired === true && typeof value === 'boolean'));

/** Renders a boolean as a checkbox, or as a choice if it may be unset. */
export function BooleanInput(props: CommonProps) {
  const { spec, value, onChange, common } = props;
  if (isCheckbox(spec, value)) return <Checkbox {...props} />;
  return (
    <select
      class="control"
      {...common}
      value={value === undefined || value === null ? '' : String(value)}
      onChange={({ currentTarget: { value: chosen } }) => onChange(chosen === '' ? undefined : chosen === 'true')}
    >
      {spec.isRequired !== true && <option value="">{formatDefault(spec)}</option>}
      <option value="true">yes</option>
      <option value="false">no</option>
    </select>
  );
}

/** Renders a checkbox. A document without the member gets it only if the value differs from the default. */
function Checkbox({ spec: { otherwise }, value, onChange, common }: CommonProps) {
  const wasAbsent = useRef(value === undefined || value === null).current;
  return (
    <input
      type="checkbox"
      {...common}
      checked={typeof value === 'boolean' ? value : otherwise === true}
      onChange={({ currentTarget: { checked } }) => onChange(wasAbsent && checked === otherwise ? undefined : checked)}
    />
  );
}
