import type { IndexDocument } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Field } from '../../components/form/field.js';
import type { JsonObject } from '../../words/paths.js';

interface DeriveFormProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly isValid: boolean;
  onDerive(id: string, name: string, rows: readonly JsonObject[]): Promise<void>;
}

/** An index of its own, optimised at every rebalance of its parent. */
export function DeriveForm({ parent, rows, isValid, onDerive }: DeriveFormProps) {
  const [id, setId] = useState(`${parent.id}-OPT`);
  const [name, setName] = useState(`${parent.name}, optimised`);
  return (
    <section class="designer-part" aria-label="Derive an index">
      <h2>Derive an index</h2>
      <p class="quiet">Keeps these constraints at each rebalance of {parent.id}.</p>
      <div class="optimise-run">
        <Field
          spec={{ name: 'id', label: 'Id', kind: 'text', isRequired: true }}
          value={id}
          findings={[]}
          onChange={(value) => setId(String(value ?? ''))}
        />
        <Field
          spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }}
          value={name}
          findings={[]}
          onChange={(value) => setName(String(value ?? ''))}
        />
        <Button disabled={!isValid || id === '' || name === ''} onClick={() => void onDerive(id, name, rows)}>
          Derive
        </Button>
      </div>
    </section>
  );
}
