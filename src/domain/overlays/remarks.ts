import type { z } from 'zod';
import type { Finding } from '../refusals/findings.js';

/** What the members of an overlay mean together: its path is below the overlay. */
export type Remark = Pick<Finding, 'severity' | 'code' | 'path' | 'message' | 'value'>;

/** What a remark may ask of what lies beneath. */
export interface Beneath {
  /** Of the first index beneath, undefined where that is not stored. */
  readonly currency: string | undefined;
  readonly baseValue: number;
}

/** A member that does nothing beside the others. */
export const idle = (path: string, value: unknown, why: string): Remark => ({
  severity: 'warning',
  code: 'NO_EFFECT',
  path,
  message: `overlay.${path}${typeof value === 'object' ? '' : ` is ${JSON.stringify(value)} and`} does nothing: ${why}.`,
  value,
});

/** Members that do nothing for one reason, of those that were given another value than their default. */
export function idleMembers<S extends z.ZodObject>(
  schema: S,
  spec: z.output<S>,
  { members, why }: { readonly members: readonly (keyof z.output<S> & string)[]; readonly why: string },
): Remark[] {
  return members.flatMap((member) => {
    const value: unknown = spec[member];
    if (value === undefined || value === null || value === 0) return [];
    const usual: unknown = (schema.shape[member] as z.ZodType).safeParse(undefined).data;
    return JSON.stringify(value) === JSON.stringify(usual) ? [] : [idle(member, value, why)];
  });
}
