import { signal } from '@preact/signals';
import type { Finding } from '#clients/typescript/divisor.js';
import { useLayoutEffect } from 'preact/hooks';

/** Field of the page that shows a finding. */
export interface FindingField {
  /** Id of the element that contains the field. */
  readonly id: string;
  /** Member of the document that the field edits. The next field is its label. */
  readonly member: string;
  readonly label: string;
}

/** Displayed fields by the key of their finding. */
const fieldsByFinding = signal<ReadonlyMap<string, FindingField>>(new Map());

const getKey = ({ code, path, message }: Finding): string => `${code} ${path} ${message}`;

/** Returns the field that displays a finding. */
export const findFindingField = (finding: Finding): FindingField | undefined =>
  fieldsByFinding.value.get(getKey(finding));

/** Registers a field for its findings. A list of findings can then link to the field. */
export function useFindingField(findings: readonly Finding[], { id, member, label }: FindingField): void {
  const keys = findings.map(getKey).join('\n');
  useLayoutEffect(() => {
    if (findings.length === 0) return undefined;
    const field = { id, member, label };
    const findingKeys = findings.map(getKey);
    fieldsByFinding.value = new Map([...fieldsByFinding.peek(), ...findingKeys.map((key) => [key, field] as const)]);
    return () => {
      fieldsByFinding.value = new Map([...fieldsByFinding.peek()].filter(([, other]) => other !== field));
    };
  }, [keys, id, member, label]);
}

/** Opens the folded sections around a field and focuses the field. */
export function focusField({ id }: FindingField): void {
  const field = document.getElementById(id);
  for (let fold = field?.closest('details'); fold != null; fold = fold.parentElement?.closest('details'))
    fold.open = true;
  field?.querySelector<HTMLElement>('input, select, textarea, [role=textbox], button')?.focus();
}
