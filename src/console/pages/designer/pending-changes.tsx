import type { DocumentChange, Finding } from '#clients/typescript/divisor.js';
import { Banner } from '../../components/banner.js';
import { Button } from '../../components/button.js';
import { FormDialog } from '../../components/form-dialog.js';
import { SchemaForm } from '../../components/form/schema-form.js';
import { Problem } from '../../components/problem.js';
import { ChangeTable } from '../../components/versions/change-table.js';
import { useAddressedObject } from '../../state/addressed.js';
import { computeDefinitionsOn } from '../../words/amendments.js';
import { isDate } from '../../words/dates.js';
import { formatPathLabel } from '../../words/labels.js';
import { countValues } from '../../words/numbers.js';
import { listDifferences, type Difference, type JsonObject } from '../../words/paths.js';
import type { PendingChange, SaveState } from './saving.js';

interface PendingChangesProps {
  readonly id: string;
  readonly pending: PendingChange;
  readonly saving: SaveState;
  /** Reason for the change, stored with the version. */
  readonly note: string;
}

const NO_TERMS: JsonObject = {};

/**
 * Renders a dialog that applies changes from a date. The dialog also offers to change the whole history, and shows how
 * many closes that affects.
 */
export function PendingChanges({ id, pending, saving, note }: PendingChangesProps) {
  const { published, fixed, amendable, after } = pending;
  // The address keeps the terms while the amendment waits for approval.
  const [terms, setTerms] = useAddressedObject('amend', NO_TERMS);
  const { effective_from: from, ...others } = terms;
  const date = typeof from === 'string' && isDate(from) ? from : null;
  const reason = note === '' && typeof terms['reason'] === 'string' ? terms['reason'] : note;
  const closesText = countValues(published.closes, 'published close');
  const differences = date === null ? amendable : listAmendedFields(date, pending);
  return (
    <FormDialog title={`Amend ${id} from a date`} onClose={saving.dropPending}>
      <p>
        The index has {closesText}, {published.first} to {published.through}. An amendment keeps them: the first review
        on or after its date follows the new definition.
      </p>
      <ChangeTable label="Changed fields" changes={[...differences, ...fixed].map(toDocumentChange)} document={after} />
      {fixed.length > 0 && (
        <Banner kind="warning" title="Some fields cannot change from a date.">
          <p>
            {fixed.map(({ path }) => formatPathLabel(path, after)).join('; ')}. Discard these changes to amend the index
            from a date.
          </p>
        </Banner>
      )}
      {fixed.length === 0 && (
        <SchemaForm
          schema="Amendment"
          names={['effective_from', 'announced', 'rebalance', 'reason']}
          changes={{ rebalance: { label: 'Rebalance at once', otherwise: false } }}
          value={terms}
          findings={createLateFinding(date, published.through)}
          onChange={setTerms}
        />
      )}
      {saving.trouble !== null && <Problem trouble={saving.trouble} />}
      <div class="dialog-actions">
        <Button onClick={saving.dropPending}>Cancel</Button>
        {fixed.length === 0 && (
          <Button
            kind="main"
            disabled={date === null || saving.isSaving}
            onClick={() => date !== null && saving.amend(date, others, reason)}
          >
            {date === null ? 'Amend from a date' : `Amend from ${date}`}
          </Button>
        )}
      </div>
      <WholeHistory closes={closesText} isDisabled={saving.isSaving} onChange={() => saving.saveWhole(note)} />
    </FormDialog>
  );
}

interface WholeHistoryProps {
  /** Number of published closes in words, such as `128 published closes`. */
  readonly closes: string;
  readonly isDisabled: boolean;
  onChange(): void;
}

/** Renders the button that changes the whole history, with the number of affected closes. */
function WholeHistory({ closes, isDisabled, onChange }: WholeHistoryProps) {
  return (
    <details>
      <summary>Change the whole history instead</summary>
      <Banner
        kind="warning"
        title={`The new definition applies from the base date: ${closes} would have to be restated.`}
      >
        <p>
          The next run computes every close again. Closes that differ are refused until they are restated with a reason,
          or decided by an error policy.
        </p>
        <div class="form-actions">
          <Button kind="danger" disabled={isDisabled} onClick={onChange}>
            Change the whole history
          </Button>
        </div>
      </Banner>
    </details>
  );
}

/** Returns the fields that an amendment on a date would change. Earlier amendments are taken into account. */
function listAmendedFields(date: string, pending: PendingChange): readonly Difference[] {
  const { inForce, amended } = computeDefinitionsOn(date, pending);
  return listDifferences(inForce, amended);
}

const toDocumentChange = ({ path, before, after }: Difference): DocumentChange => ({
  path: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  op: before === undefined ? 'add' : after === undefined ? 'remove' : 'replace',
  before: before ?? null,
  after: after ?? null,
});

const createLateFinding = (date: string | null, through: string): readonly Finding[] =>
  date === null || date > through
    ? []
    : [
        {
          severity: 'warning',
          code: 'BAD_DATE',
          message: `Closes are published through ${through}: reviews up to it change published closes.`,
          path: 'effective_from',
        },
      ];
