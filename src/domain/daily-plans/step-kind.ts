import type { z } from 'zod';

/** Scopes that a step may require, named like the scopes of keys. */
export type StepScope = 'read' | 'run' | 'data' | 'publish';

/** Kind of step. The code that performs it is in `src/services/daily-plans/steps/`. */
export interface StepKind {
  readonly schema: z.ZodObject;
  /** Sentence for the guide and the contract. */
  readonly help: string;
  /**
   * Scope that a key needs to store a plan with this step. A schedule therefore cannot exceed the rights of its author.
   */
  readonly scope: StepScope;
  /** True if the step is repeated in every round of a day, for indices and files that are not done. */
  readonly repeats: boolean;
}

/** Returns a kind of step and keeps its literal types. */
export const defineStepKind = <const K extends StepKind>(kind: K): K => kind;
