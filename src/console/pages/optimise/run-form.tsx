import type { Finding } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.js';
import { Button } from '../../components/button.js';
import { Confirm } from '../../components/confirm.js';
import { Field } from '../../components/form/field.js';
import { VersionHistory } from '../../components/versions/version-history.js';
import { attempt, type OnRefusal } from '../../state/actions.js';
import { navigate, setParameters } from '../../state/location.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';

interface RunButtonProps {
  readonly isValid: boolean;
  onRun(onRefusal: OnRefusal): Promise<{ readonly job_id: string } | undefined>;
}

/** Renders the button that saves the constraints and runs the optimisation, which adds costs and the frontier. */
export const RunButton = ({ isValid, onRun }: RunButtonProps) => (
  <ActionButton
    kind="main"
    disabled={!isValid}
    title="Saves the constraints, and adds to the solution the cost of each constraint and the efficient frontier"
    act={async (onRefusal) => {
      const job = await onRun(onRefusal);
      if (job !== undefined) navigate(`/console/optimise/runs/${job.job_id.slice('optimise:'.length)}`);
    }}
  >
    Run
  </ActionButton>
);

interface SaveConstraintsProps {
  readonly name: string;
  readonly findings: readonly Finding[];
  readonly isValid: boolean;
  /** Id of the constraint set that was opened; null for new rows. */
  readonly stored: string | null;
  onName(name: string): void;
  onSave(onRefusal: OnRefusal): Promise<unknown>;
}

/** Renders the form that saves the rows under an id. */
export function SaveConstraints({ name, findings, isValid, stored, onName, onSave }: SaveConstraintsProps) {
  return (
    <section class="designer-part" aria-label="Constraint set">
      <h2>Constraint set</h2>
      <p class="quiet">A run saves the constraints under this id.</p>
      <div class="optimise-run">
        <Field
          spec={{ name: 'id', label: 'Id of the constraint set', kind: 'text', isRequired: true }}
          value={name}
          findings={findings}
          onChange={(value) => onName(String(value ?? ''))}
        />
        <ActionButton disabled={!isValid} act={onSave}>
          Save the constraints
        </ActionButton>
        {stored !== null && <DeleteSet id={stored} />}
      </div>
      {stored !== null && <VersionHistory key={stored} kind="constraint set" id={stored} />}
    </section>
  );
}

function DeleteSet({ id }: { readonly id: string }) {
  const [isAsking, setAsking] = useState(false);
  const remove = () =>
    attempt(async () => {
      await service.value.call('deleteConstraintSet', { params: { constraint_set_id: id } });
      setParameters({ set: null, rows: null, as: null });
      notifyChange();
    });
  return (
    <>
      <Button onClick={() => setAsking(true)}>Delete {id}</Button>
      {isAsking && (
        <Confirm
          title={`Delete ${id}?`}
          action="Delete"
          onConfirm={() => void remove()}
          onClose={() => setAsking(false)}
        >
          <p>Existing runs are kept.</p>
        </Confirm>
      )}
    </>
  );
}
