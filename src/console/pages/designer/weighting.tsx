import type { ParameterSpec } from '#clients/typescript/divisor.js';
import { Field } from '../../components/form/field.js';
import { isObject } from '../../words/paths.js';
import { listFindingsAt, useWorkshop } from './draft.js';
import { Fields, Part } from './parts.js';

const WEIGHTING_PATH = ['pipeline', 'weighting'] as const;

/** Renders the weighting of the selected securities. */
export function Weighting() {
  const { draft, types, findings } = useWorkshop();
  const type = draft.at([...WEIGHTING_PATH, 'type']);
  const spec = types.weighting.find((known) => known.type === type);
  /** Weighting classes have different parameters, but they all share the limits. */
  const choose = (chosen: string) => {
    const before = draft.at(WEIGHTING_PATH);
    const { params: _, ...limits } = isObject(before) ? before : {};
    draft.set(WEIGHTING_PATH, { ...limits, type: chosen });
  };
  return (
    <Part title="Weighting">
      <Field
        spec={{
          name: 'type',
          label: 'Weights',
          kind: 'choice',
          choices: types.weighting.map((known) => known.type),
          words: Object.fromEntries(types.weighting.map((known) => [known.type, known.label])),
          isRequired: true,
          help: spec?.help ?? null,
        }}
        value={type}
        findings={listFindingsAt(findings, [...WEIGHTING_PATH, 'type'])}
        onChange={(value) => typeof value === 'string' && choose(value)}
      />
      <Fields fields={spec?.parameters ?? []} within={[...WEIGHTING_PATH, 'params']} />
      <Fields fields={sortGroups(types.fields.weighting)} within={WEIGHTING_PATH} />
    </Part>
  );
}

/** Sorts fields with members after the others, which are side by side. */
const sortGroups = (fields: readonly ParameterSpec[]): readonly ParameterSpec[] =>
  fields.toSorted((a, b) => Number(a.fields !== null) - Number(b.fields !== null));
