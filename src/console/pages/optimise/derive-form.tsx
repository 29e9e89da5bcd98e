import type { IndexDocument } from '#clients/typescript/divisor.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Field } from '../../components/form/field.js';
import { Problem } from '../../components/problem.js';
import { getParameter, setParameters } from '../../state/location.js';
import type { Trouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';

interface DeriveFormProps {
  readonly parent: IndexDocument;
  readonly rows: readonly JsonObject[];
  readonly isValid: boolean;
  /**
   * Stores the derived index.
   * @returns the error of a refused request; null if it succeeded
   */
  onDerive(id: string, name: string, rows: readonly JsonObject[]): Promise<Trouble | null>;
}

/** Renders the form of a derived index. At each rebalance, it optimises the weights of its parent. */
export function DeriveForm({ parent, rows, isValid, onDerive }: DeriveFormProps) {
  const [id, setId] = useState(`${parent.id}-OPT`);
  const [name, setName] = useState(`${parent.name}, optimised`);
  const [refused, setRefused] = useState<Trouble | null>(null);
  const section = useRef<HTMLElement>(null);
  const isAsked = getParameter('derive') !== null;
  // A link on the page of a result opens this form. The form then gets the focus.
  useEffect(() => {
    if (!isAsked) return;
    section.current?.focus();
    setParameters({ derive: null });
  }, [isAsked]);
  const listFindings = (field: string) => refused?.findings.filter(({ path }) => path === field) ?? [];
  return (
    <section class="designer-part" aria-label="Derive an index" ref={section} tabIndex={-1}>
      <h2>Derive an index</h2>
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
        <Button
          disabled={!isValid || id === '' || name === ''}
          onClick={async () => setRefused(await onDerive(id, name, rows))}
        >
          Derive
        </Button>
      </div>
      {refused !== null && <Problem trouble={refused} />}
    </section>
  );
}
