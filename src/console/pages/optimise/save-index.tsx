import type { IndexDocument } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Field } from '../../components/form/field.js';
import { FormDialog } from '../../components/form-dialog.js';
import { Problem } from '../../components/problem.js';
import { getParameter, setParameters } from '../../state/location.js';
import type { Trouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';

interface SaveIndexProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly isValid: boolean;
  /**
   * Stores the derived index.
   * @returns the error of a refused request; null if it succeeded
   */
  onDerive(id: string, name: string, rows: readonly JsonObject[]): Promise<Trouble | null>;
}

/** Renders the button that saves the optimisation as an index, and its form. A link of a result opens the form. */
export function SaveIndex(props: SaveIndexProps) {
  const isAsked = getParameter('derive') !== null;
  const [isOpen, setOpen] = useState(isAsked);
  useEffect(() => {
    if (!isAsked) return;
    setOpen(true);
    setParameters({ derive: null });
  }, [isAsked]);
  return (
    <>
      <Button disabled={!props.isValid} onClick={() => setOpen(true)}>
        Save as an index
      </Button>
      {isOpen && <SaveForm {...props} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Renders the form of a derived index. At each rebalance, it optimises the weights of its parent. */
function SaveForm({ parent, rows, isValid, onDerive, onClose }: SaveIndexProps & { onClose(): void }) {
  const [id, setId] = useState(`${parent.id}-OPT`);
  const [name, setName] = useState(`${parent.name}, optimised`);
  const [refused, setRefused] = useState<Trouble | null>(null);
  const listFindings = (field: string) => refused?.findings.filter(({ path }) => path === field) ?? [];
  return (
    <FormDialog title="Save as an index" onClose={onClose}>
      <p class="quiet">An index with these weights, optimised again at each rebalance of {parent.id}.</p>
      <div class="optimise-run">
        <Field
          spec={{ name: 'id', label: 'Id', kind: 'text', isRequired: true }}
          value={id}
          findings={listFindings('id')}
          onChange={(value) => setId(String(value ?? ''))}
        />
        <Field
          spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }}
          value={name}
          findings={listFindings('name')}
          onChange={(value) => setName(String(value ?? ''))}
        />
      </div>
      {refused !== null && <Problem trouble={refused} />}
      <div class="dialog-actions">
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="main"
          disabled={!isValid || id === '' || name === ''}
          onClick={async () => setRefused(await onDerive(id, name, rows))}
        >
          Save
        </Button>
      </div>
    </FormDialog>
  );
}
