import { RowList, rowsIn } from '../../components/form/row-list.js';
import { Answered } from '../../components/wait.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress } from '../../words/addresses.js';
import { isObject } from '../../words/paths.js';
import { TermsForm } from '../optimise/terms.js';
import { useWorkshop } from './draft.js';
import { Fields, Part } from './parts.js';

const DERIVATION = ['derivation'] as const;
const CONSTRAINTS = [...DERIVATION, 'constraints'] as const;

/** Renders the settings of a derived index: the optimisation at each rebalance of the unchanged parent. */
export function Derivation() {
  const { draft, findings, datapoints, types: definitions } = useWorkshop();
  const types = useResource('constraint types', (signal) => service.value.call('listConstraintTypes', { signal }), {
    follows: false,
  });
  const value = draft.at(DERIVATION);
  const parent = String(draft.at([...DERIVATION, 'source_index_id']));
  return (
    <>
      <Part title="Objective" aside={<a href={indexAddress(parent)}>optimised from {parent}</a>}>
        <TermsForm
          value={isObject(value) ? value : {}}
          findings={findings}
          path={DERIVATION}
          datapoints={datapoints}
          onChange={(terms) => draft.set(DERIVATION, terms)}
        />
      </Part>
      <Part title="Constraints" help="Always, unless changed: weights add up to 100%, and none is below 0">
        <Answered resource={types} what="the constraint classes">
          {({ specs }) => (
            <RowList
              what="constraint"
              rows={rowsIn(draft.at(CONSTRAINTS))}
              types={specs}
              path={CONSTRAINTS}
              findings={findings}
              datapoints={datapoints}
              onChange={(rows) => draft.set(CONSTRAINTS, rows)}
            />
          )}
        </Answered>
        <Fields fields={definitions.fields.derivation} within={DERIVATION} />
      </Part>
    </>
  );
}
