import { RowList, listRows } from '../../components/form/row-list.js';
import { useWorkshop } from './draft.js';
import { Part } from './parts.js';

const SELECTION_PATH = ['pipeline', 'selection'] as const;

/** Renders the selection rules. Each rule applies to the securities that the previous rule kept. */
export function Selection() {
  const { draft, types, findings, datapoints } = useWorkshop();
  return (
    <Part title="Selection" help="Rules in order; each one selects from the securities that the previous one kept">
      <RowList
        what="rule"
        rows={listRows(draft.at(SELECTION_PATH))}
        types={types.selection}
        path={SELECTION_PATH}
        findings={findings}
        datapoints={datapoints}
        onChange={(rows) => draft.set(SELECTION_PATH, rows)}
      />
    </Part>
  );
}
