import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { assertNoErrors } from '../refusals/refusal.js';
import { checkShape, Id } from '../schema/shape.js';
import { checkRows } from '../documents/constraint-set.js';
import { DerivationPayload, type IndexDocument } from '../documents/index-document.js';
import { optimisationFields, checkOptimisation } from '../documents/optimisation-spec.js';
import { INHERITED_FIELDS } from './validate-derivation.js';
import { parseRequest } from '../documents/request-expressions.js';
import { isObject } from './index-context.js';

/** Fields of a request for a new derived index. The other fields are copied from the parent. */
export const DerivationRequest = defineObject(() => ({
  id: Id,
  name: z.string().min(1).max(200),
  description: z.string().max(10_000).nullable().default(null),
  ...optimisationFields,
  constraints: DerivationPayload.shape.constraints,
  relax: DerivationPayload.shape.relax,
}));
export type DerivationRequest = z.infer<typeof DerivationRequest>;

/** Reads the request in a body. @throws Refusal VALIDATION_FAILED with the path of each invalid row */
export function readDerivation(body: unknown): DerivationRequest {
  const { body: raw, findings: ofTexts } = parseRequest(isObject(body) ? body : {});
  const { value, findings } = checkShape(DerivationRequest, isObject(body) ? raw : body);
  const all = [
    ...findings,
    ...ofTexts,
    ...checkOptimisation(raw, '', true),
    ...checkRows(raw['constraints'], 'constraints', true),
  ];
  assertNoErrors('request', all);
  if (value === undefined) throw new Error('a request without errors has a value');
  return value;
}

/**
 * Creates the document of a new derived index, with the base date, base value, currency, calendar and cadence of its
 * parent.
 */
export function createDerivedDocument(
  parent: IndexDocument,
  { id, name, description, ...derivation }: DerivationRequest,
): Record<string, unknown> {
  return {
    id,
    name,
    description,
    ...Object.fromEntries(INHERITED_FIELDS.map((field) => [field, parent[field]])),
    derivation: { source_index_id: parent.id, ...derivation },
  };
}
