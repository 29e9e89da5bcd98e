import { Field, FieldGrid } from '../../components/form/field.js';
import { Facts } from '../../components/facts.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { findingsAt, useWorkshop } from './draft.js';
import { Fields, Part } from './parts.js';

const OVERLAY = ['overlay'] as const;
const TYPE = [...OVERLAY, 'type'] as const;
const BENEATH = ['source_index_id'] as const;

/** What an overlay does with the index beneath it, by the catalogue of overlays. */
export function Overlay() {
  const { draft, findings, known, isStored } = useWorkshop();
  const types = useResource('overlay types', (signal) => service.value.call('listOverlayTypes', { signal }), {
    follows: false,
  });
  const type = draft.at(TYPE);
  /** Parameters of one kind are not those of another; a blend names its parts instead of an index. */
  const choose = (chosen: string) => {
    const { source_index_id: beneath, ...others } = draft.document.value;
    const parts =
      chosen === 'blend' && typeof beneath === 'string' ? { parts: [{ index_id: beneath, weight: 1 }] } : {};
    const source = chosen === 'blend' ? {} : { source_index_id: beneath ?? known.indices[0] };
    draft.replace({ ...others, ...source, overlay: { type: chosen, ...parts } });
  };
  return (
    <Answered resource={types} what="the kinds of overlay">
      {({ overlays }) => {
        const spec = overlays.find((one) => one.type === type);
        return (
          <Part title="Overlay" help="An index on another: it holds that one, and does something with it">
            <FieldGrid>
              <Field
                spec={{
                  name: 'type',
                  label: 'Overlay',
                  kind: 'choice',
                  choices: overlays.map((one) => one.type),
                  isRequired: true,
                  help: spec?.help ?? null,
                }}
                value={type}
                findings={findingsAt(findings, TYPE)}
                onChange={(chosen) => typeof chosen === 'string' && choose(chosen)}
              />
              {type !== 'blend' && (
                <Field
                  spec={{
                    name: 'source_index_id',
                    label: 'Index beneath',
                    kind: 'choice',
                    choices: known.indices.filter((id) => !isStored || id !== draft.at(['id'])),
                    isRequired: true,
                  }}
                  value={draft.at(BENEATH)}
                  findings={findingsAt(findings, BENEATH)}
                  onChange={(chosen) => draft.set(BENEATH, chosen)}
                />
              )}
            </FieldGrid>
            <Fields fields={spec?.parameters ?? []} within={OVERLAY} />
            {spec !== undefined && (
              <Facts
                facts={[
                  ['Formula', <code key="formula">{spec.formula}</code>],
                  ['Published in', spec.reference],
                ]}
              />
            )}
          </Part>
        );
      }}
    </Answered>
  );
}

/** An overlay on an index, before anything of it was chosen: a fee is the simplest. */
export const overlayOn = (beneath: JsonObject): JsonObject => ({
  id: `${String(beneath['id'])}-NET`,
  name: `${String(beneath['name'])}, net of a fee`,
  calendar: beneath['calendar'],
  base_date: beneath['base_date'],
  base_value: beneath['base_value'],
  currency: beneath['currency'],
  kind: 'overlay',
  source_index_id: beneath['id'],
  overlay: { type: 'fee' },
});
