import type { z } from 'zod';

type PresentMembers = Readonly<Record<string, unknown>>;

/** Returns a refinement of an object: in each pair of members exactly one is given, and the other is null. */
export const requireOneOfEach =
  <Member extends string>(pairs: readonly (readonly [Member, Member])[]) =>
  (value: Readonly<Record<Member, unknown>>, context: z.RefinementCtx): void => {
    for (const [one, other] of pairs) {
      if ((value[one] === null) !== (value[other] === null)) continue;
      const presencePhrase = value[one] === null ? 'neither is present' : 'both are present';
      context.addIssue({
        code: 'custom',
        path: [one],
        input: undefined,
        params: { finding: 'REQUIRED', isWhole: true },
        message: `or ${other} is required, but not both: ${presencePhrase}`,
      });
    }
  };

interface Choice {
  /** Subject that requires one of the members, such as `a decrement`. */
  readonly by: string;
  /** Members, or paths of members, of which exactly one is required. */
  readonly of: readonly [string, string];
}

/** Returns a refinement of an object: exactly one of two members is given, and the other is absent or null. */
export const requireExactlyOne =
  ({ by, of: [one, other] }: Choice) =>
  (value: PresentMembers, context: z.RefinementCtx): void => {
    const [first, second] = [readMember(value, one), readMember(value, other)];
    const isGiven = (member: unknown): boolean => member !== null && member !== undefined;
    if (isGiven(first) !== isGiven(second)) return;
    const presencePhrase = isGiven(first)
      ? `both are present, ${JSON.stringify(first)} and ${JSON.stringify(second)}`
      : 'neither is present';
    context.addIssue({
      code: 'custom',
      path: one.split('.'),
      input: undefined,
      params: { finding: 'REQUIRED', isWhole: true },
      message: `or ${other} is required by ${by}, but not both: ${presencePhrase}`,
    });
  };

function readMember(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, key) => (inner as PresentMembers | null | undefined)?.[key], value);
}
