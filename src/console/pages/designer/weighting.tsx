import { Field } from '../../components/form/field.js';
import { fieldOf, type FieldSpec } from '../../components/form/field-spec.js';
import { isObject } from '../../words/paths.js';
import { findingsAt, useWorkshop } from './draft.js';
import { Fields, Part } from './parts.js';

const WEIGHTING = ['pipeline', 'weighting'] as const;

const LIMITS: readonly FieldSpec[] = [
  { name: 'cap', label: 'Cap', kind: 'number', unit: 'fraction', help: 'Largest weight of a name' },
  { name: 'floor', label: 'Floor', kind: 'number', unit: 'fraction', help: 'Least weight of a name' },
  { name: 'group_caps', label: 'Caps of groups', kind: 'json', help: 'As [{ "field": "SECTOR", "cap": 0.3 }]' },
];

/** How the names that are left are weighted. */
export function Weighting() {
  const { draft, types, findings } = useWorkshop();
  const type = draft.at([...WEIGHTING, 'type']);
  const spec = types.weighting.find((known) => known.type === type);
  /** Parameters of one class are not those of another; the limits are everybody's. */
  const choose = (chosen: string) => {
    const before = draft.at(WEIGHTING);
    const { params: _, ...limits } = isObject(before) ? before : {};
    draft.set(WEIGHTING, { ...limits, type: chosen });
  };
  return (
    <Part title="Weighting">
      <Field
        spec={{
          name: 'type',
          label: 'Weights',
          kind: 'choice',
          choices: types.weighting.map((known) => known.type),
          isRequired: true,
          help: spec?.help ?? null,
        }}
        value={type}
        findings={findingsAt(findings, [...WEIGHTING, 'type'])}
        onChange={(value) => typeof value === 'string' && choose(value)}
      />
      <Fields fields={(spec?.parameters ?? []).map(fieldOf)} within={[...WEIGHTING, 'params']} />
      <Fields fields={LIMITS} within={WEIGHTING} />
    </Part>
  );
}
