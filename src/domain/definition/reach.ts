import type { ErrorCode } from '../base/refusals.js';
import { OWNED_DOCUMENTS, type VersionedKind } from './versions.js';

interface NamedDocument {
  readonly kind: VersionedKind | 'risk-model';
  readonly missing: ErrorCode;
}

/** Kind of the document to which a path or query parameter refers, and error code if it is absent, by parameter. */
export const NAMED_DOCUMENTS: Readonly<Record<string, NamedDocument>> = {
  ...Object.fromEntries(OWNED_DOCUMENTS.map(({ kind, missing, parameter }) => [parameter, { kind, missing }])),
  model_id: { kind: 'risk-model', missing: 'RISK_MODEL_NOT_FOUND' },
};

/** Error code of an absent document, by kind. */
export const MISSING_CODES: ReadonlyMap<string, ErrorCode> = new Map(
  Object.values(NAMED_DOCUMENTS).map(({ kind, missing }) => [kind, missing]),
);

/** Returns the error codes of the documents to which parameters refer. @param names names of all parameters */
export const listMissingCodes = (names: readonly string[]): readonly ErrorCode[] =>
  Object.entries(NAMED_DOCUMENTS).flatMap(([name, { missing }]) => (names.includes(name) ? [missing] : []));

/** Documents that a client may use: those whose ids begin with one of its prefixes, and shared documents. */
export interface Reach {
  readonly prefixes: readonly string[];
  /** Documents of other clients that the client may read, as `kind/id`. */
  readonly shared: ReadonlySet<string>;
  /** True if documents outside the prefixes are reported as absent. */
  readonly isHidden: boolean;
}

/** Form of a prefix, the beginning of ids. */
export const PREFIX_PATTERN = /^[A-Za-z0-9_-]{1,32}$/;
export const PREFIXES_MAX = 16;

export const isIdWithin = ({ prefixes }: Pick<Reach, 'prefixes'>, id: string): boolean =>
  prefixes.some((prefix) => id.startsWith(prefix));

/** Returns true if a client may read a document: within its prefixes, or shared with it. */
export const mayRead = (reach: Reach, kind: string, id: string): boolean =>
  isIdWithin(reach, id) || reach.shared.has(`${kind}/${id}`);

/** Returns true if two clients have access to the same documents. Undefined means all documents. */
export function isSameReach(a: Reach | undefined, b: Reach | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return (
    a.prefixes.join() === b.prefixes.join() &&
    a.shared.size === b.shared.size &&
    [...a.shared].every((name) => b.shared.has(name))
  );
}
