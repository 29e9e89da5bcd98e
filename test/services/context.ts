import type { Context } from '#services/shared/context.js';

/** Members of a context that a test gives. An object needs only the members that the service under test calls. */
type GivenContext<C> = {
  readonly [K in keyof C]?: C[K] extends ((...args: never[]) => unknown) | string | number ? C[K] : Partial<C[K]>;
};

/** Returns the context of a service under test. A member that the test does not give is undefined. */
export const createTestContext = <C = Context>(given: GivenContext<NoInfer<C>>): C => given as C;
