import type {
  ConstraintRowBody,
  ConstraintRowInput,
  ConstraintSet,
  IndexDocument,
  IndexDocumentBody,
  OptimiseRequest,
} from '#clients/typescript/divisor.js';
import { parseJson } from '../../state/addressed.js';
import { isObject, type JsonObject } from '../../words/paths.js';
import type { Terms } from './terms.js';

/** Casts rows of the form to rows of a request. The service validates them. */
export const asConstraints = (rows: readonly JsonObject[]): readonly (ConstraintRowBody & ConstraintRowInput)[] =>
  rows as unknown as readonly (ConstraintRowBody & ConstraintRowInput)[];

/** Casts the constraints of a stored set to form rows. */
export const asRows = (constraints: ConstraintSet['constraints']): readonly JsonObject[] =>
  constraints as unknown as readonly JsonObject[];

type SentTerms = Pick<
  OptimiseRequest,
  'objective' | 'expected_returns' | 'uncertainty' | 'costs' | 'risk_model' | 'candidates'
>;

/** Casts terms of the form to terms of a request. The service validates them. */
export const asTerms = (terms: Terms): SentTerms => terms as unknown as SentTerms;

/** Parses the terms in an address. Returns no terms if they are invalid. */
export function parseTerms(text: string | null): Terms {
  const value = parseJson(text);
  if (!isObject(value)) return {};
  // a derivation accepts the type of an objective only in an object
  return typeof value['objective'] === 'string' ? { ...value, objective: { type: value['objective'] } } : value;
}

interface DerivationInput {
  readonly base: string;
  readonly rows: readonly JsonObject[];
  readonly terms: Terms;
}

/** Returns the definition of an index that optimises its parent under constraints from a date on. It is not stored. */
export function createDerivedIndex(parent: IndexDocument, { base, rows, terms }: DerivationInput): IndexDocumentBody {
  const { id, name, calendar, base_value, currency } = parent;
  return {
    id: `${id.slice(0, 50)}-solved`,
    name,
    calendar,
    base_date: base,
    base_value,
    currency,
    derivation: { ...asTerms(terms), source_index_id: id, constraints: asConstraints(rows) },
  };
}
