import type { z } from 'zod';

/** Refines an object: of each pair of members exactly one is given, the other is null. */
export const oneOfEach =
  <Member extends string>(pairs: readonly (readonly [Member, Member])[]) =>
  (value: Readonly<Record<Member, unknown>>, context: z.RefinementCtx): void => {
    for (const [one, other] of pairs) {
      if ((value[one] === null) !== (value[other] === null)) continue;
      const which = value[one] === null ? 'neither is given' : 'both are given';
      context.addIssue({
        code: 'custom',
        path: [one],
        input: undefined,
        params: { finding: 'REQUIRED' },
        message: `or ${other} is needed, and only one: ${which}`,
      });
    }
  };
