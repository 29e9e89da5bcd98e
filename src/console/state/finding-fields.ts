import { signal } from '@preact/signals';
import type { Finding } from '#clients/typescript/divisor.js';
import { useLayoutEffect } from 'preact/hooks';

/** A field of the page that shows a finding. */
export interface FindingField {
  /** Id of the element around the field. */
  readonly id: string;
  /** Member of the document that the field edits, and its label. */
  readonly member: string;
  readonly label: string;
}

/** Fields that are displayed, by their findings. */
const fields = signal<ReadonlyMap<string, FindingField>>(new Map());

const keyOf = ({ code, path, message }: Finding): string => `${code} ${path} ${message}`;

/** Returns the displayed field of a finding. */
export const findingField = (finding: Finding): FindingField | undefined => fields.value.get(keyOf(finding));

/** Records findings of a field, so that a list of findings names the field and leads to it. */
export function useFindingField(findings: readonly Finding[], { id, member, label }: FindingField): void {
  const keys = findings.map(keyOf).join('\n');
  useLayoutEffect(() => {
    if (findings.length === 0) return undefined;
    const field = { id, member, label };
    const own = findings.map(keyOf);
    fields.value = new Map([...fields.peek(), ...own.map((key) => [key, field] as const)]);
    return () => {
      fields.value = new Map([...fields.peek()].filter(([, other]) => other !== field));
    };
  }, [keys, id, member, label]);
}

/** Moves the focus to a field, and opens the parts of the page that it is folded in. */
export function focusField({ id }: FindingField): void {
  const field = document.getElementById(id);
  for (let fold = field?.closest('details'); fold != null; fold = fold.parentElement?.closest('details'))
    fold.open = true;
  field?.querySelector<HTMLElement>('input, select, textarea, [role=textbox], button')?.focus();
}
