import type { JsonObject } from '../../words/paths.js';
import type { EditedDocument } from '../editor.js';
import { Field } from './field.js';

interface IdFieldProps {
  readonly edited: EditedDocument;
  /** Member that contains the id. */
  readonly member: string;
  /** Path of the id in findings, if it is not the member. */
  readonly alias?: string;
  /** True if the id cannot change, as for a stored document. */
  readonly isFixed: boolean;
}

/** Renders the id of a document. The editor derives the id of a new document from its name. */
export function IdField({ edited: { document, findings, set }, member, alias, isFixed }: IdFieldProps) {
  const help = isFixed ? {} : { help: 'Derived from the name. Letters, digits, dashes and underscores.' };
  return (
    <Field
      spec={{ name: member, label: 'Id', kind: 'text', isRequired: true, ...help }}
      value={document[member]}
      findings={findings.filter(({ path }) => path === member || path === alias)}
      isDisabled={isFixed}
      onChange={(value) => set({ ...document, [member]: value ?? '' })}
    />
  );
}

/** Derives the id of a new document from its name until the user enters another id. */
export function withDerivedId(before: JsonObject, next: JsonObject, member: string): JsonObject {
  const isDerived = before['name'] !== next['name'] && (before[member] ?? '') === deriveId(before['name']);
  return isDerived ? { ...next, [member]: deriveId(next['name']) } : next;
}

const deriveId = (name: unknown): string =>
  String(name ?? '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, ID_LENGTH_MAX);

/** Maximum length of an id in the contract. */
const ID_LENGTH_MAX = 64;
