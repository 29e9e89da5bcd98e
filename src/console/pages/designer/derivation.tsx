import { RowList, listRows } from '../../components/form/row-list.js';
import { Answered } from '../../components/wait.js';
import { useIndexStore } from '../../state/index-store.js';
import { NamesStore } from '../../state/names.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { isObject } from '../../words/paths.js';
import { TermsForm } from '../optimise/terms.js';
import { useWorkshop } from './draft.js';
import { Fields, Part } from './parts.js';

const DERIVATION_PATH = ['derivation'] as const;
const CONSTRAINTS_PATH = [...DERIVATION_PATH, 'constraints'] as const;

/** Renders the settings of a derived index. It optimises its parent at each rebalance; the parent does not change. */
export function Derivation() {
  const { draft, findings, datapoints, types: definitions } = useWorkshop();
  const store = useIndexStore(draft.document.value) ?? null;
  const types = useResource('constraint types', (signal) => service.value.call('listConstraintTypes', { signal }), {
    follows: false,
  });
  const value = draft.at(DERIVATION_PATH);
  const parentId = String(draft.at([...DERIVATION_PATH, 'source_index_id']));
  return (
    <>
      <Part title="Objective" aside={<a href={formatIndexAddress(parentId)}>optimised from {parentId}</a>}>
        <NamesStore.Provider value={store}>
          <TermsForm
            value={isObject(value) ? value : {}}
            findings={findings}
            path={DERIVATION_PATH}
            datapoints={datapoints}
            onChange={(terms) => draft.set(DERIVATION_PATH, terms)}
          />
        </NamesStore.Provider>
      </Part>
      <Part title="Constraints" help="Always, unless changed: weights add up to 100%, and none is below 0">
        <Answered resource={types} what="the constraint classes">
          {({ specs }) => (
            <RowList
              what="constraint"
              rows={listRows(draft.at(CONSTRAINTS_PATH))}
              types={specs}
              path={CONSTRAINTS_PATH}
              findings={findings}
              datapoints={datapoints}
              onChange={(rows) => draft.set(CONSTRAINTS_PATH, rows)}
            />
          )}
        </Answered>
        <Fields fields={definitions.fields.derivation} within={DERIVATION_PATH} />
      </Part>
    </>
  );
}
