import { AnyField } from '../../components/form/any-field.js';
import type { FieldSpec } from '../../components/form/field-spec.js';
import type { Json, Path } from '../../words/paths.js';
import { useWorkshop } from './draft.js';

interface DocumentFieldProps {
  readonly spec: FieldSpec;
  /** Path of the object that contains the field. */
  readonly within: Path;
  readonly isDisabled?: boolean;
  onChange(value: Json | undefined): void;
}

/** Renders a field of the definition at a path. */
export function DocumentField({ spec, within, isDisabled = false, onChange }: DocumentFieldProps) {
  const { draft, findings, datapoints } = useWorkshop();
  const path = [...within, spec.name];
  return (
    <AnyField
      spec={spec}
      value={draft.at(path)}
      findings={findings}
      path={path}
      datapoints={datapoints}
      isDisabled={isDisabled}
      onChange={onChange}
    />
  );
}
