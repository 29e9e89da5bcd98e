import type { z } from 'zod';
import type { Finding } from '../refusals/findings.js';

/** Finding about members of an overlay, with a path relative to the overlay. */
export type Remark = Pick<Finding, 'severity' | 'code' | 'path' | 'message' | 'value'>;

/** Terms of the underlying indices that the warnings of an overlay depend on. */
export interface UnderlyingTerms {
  /** Currency of the first underlying index; undefined if that index is not stored. */
  readonly currency: string | undefined;
  readonly baseValue: number;
}

/** Returns a warning about a member without effect in combination with other members. */
export const reportWithoutEffect = (path: string, value: unknown, why: string): Remark => ({
  severity: 'warning',
  code: 'NO_EFFECT',
  path,
  message: `overlay.${path}${typeof value === 'object' ? '' : ` is ${JSON.stringify(value)} and`} has no effect: ${why}.`,
  value,
});

/** Reports members that differ from their default but have no effect, all for one reason. */
export function reportIdleMembers<S extends z.ZodObject>(
  schema: S,
  spec: z.output<S>,
  { members, why }: { readonly members: readonly (keyof z.output<S> & string)[]; readonly why: string },
): Remark[] {
  return members.flatMap((member) => {
    const value: unknown = spec[member];
    if (value === undefined || value === null || value === 0) return [];
    const defaultValue: unknown = (schema.shape[member] as z.ZodType).safeParse(undefined).data;
    return JSON.stringify(value) === JSON.stringify(defaultValue) ? [] : [reportWithoutEffect(member, value, why)];
  });
}
