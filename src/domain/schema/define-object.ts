import { z } from 'zod';
import { callOnce } from '#base/once.js';

/**
 * Returns the strict schema of an object, as `z.strictObject` does. Its fields are built at the first use of the
 * schema, not at the import of its module. The contract has thousands of fields, of which a process uses few.
 */
export function defineObject<Shape extends z.core.$ZodLooseShape>(
  fields: () => Shape,
): z.ZodObject<Shape, z.core.$strict> {
  const getShape = callOnce(fields);
  return new z.ZodObject({
    type: 'object',
    get shape() {
      return getShape();
    },
    catchall: NO_FIELDS,
  }) as unknown as z.ZodObject<Shape, z.core.$strict>; // The constructor does not infer the type of its definition.
}

/** Schema of unknown fields. */
const NO_FIELDS = z.never();
