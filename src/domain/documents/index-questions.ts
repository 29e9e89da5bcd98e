import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { requireOneOfEach } from '../schema/one-of.js';
import { Id, IsoDate } from '../schema/shape.js';
import { AsKnownOn } from '../schema/as-known-on.js';

/** Schema of an index document in a request; separate checks report its problems. */
const DocumentBody = z.record(z.string(), z.unknown());
const asOfSchema = IsoDate.nullable().default(null);

export const DocumentQuestion = defineObject(() => ({
  document: DocumentBody,
  as_of: asOfSchema,
  as_known_on: AsKnownOn,
}));
export type DocumentQuestion = z.infer<typeof DocumentQuestion>;

/** Question about a document that is not stored, without a date. */
export const PlainQuestion = defineObject(() => ({ document: DocumentBody }));

export const WhatIfQuestion = defineObject(() => ({
  index_id: Id.nullable().default(null),
  document: DocumentBody.nullable().default(null),
  patch: DocumentBody.nullable().default(null),
  changed: DocumentBody.nullable().default(null),
  as_of: asOfSchema,
  as_known_on: AsKnownOn,
})).superRefine(
  requireOneOfEach([
    ['index_id', 'document'],
    ['patch', 'changed'],
  ]),
);
export type WhatIfQuestion = z.infer<typeof WhatIfQuestion>;

/**
 * Applies a JSON merge patch to a document: members of objects are merged, null removes a member, any other value
 * replaces.
 * @source RFC 7396
 */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const mergedObject: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete mergedObject[name];
    else mergedObject[name] = mergePatch(mergedObject[name], value);
  }
  return mergedObject;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
