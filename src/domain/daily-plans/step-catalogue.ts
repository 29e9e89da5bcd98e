import { z } from 'zod';
import type { StepKind } from './step-kind.js';
import { checksStep } from './steps/checks.js';
import { compareStep } from './steps/compare.js';
import { deliverStep } from './steps/deliver.js';
import { exportStep } from './steps/export.js';
import { publishStep } from './steps/publish.js';
import { refreshStep } from './steps/refresh.js';
import { renderStep } from './steps/render.js';
import { runStep } from './steps/run.js';

/**
 * All kinds of steps. The build fails if a kind has no function that performs it
 * (`src/services/daily-plans/performers.ts`).
 */
export const STEP_CATALOGUE = {
  refresh: refreshStep,
  checks: checksStep,
  run: runStep,
  compare: compareStep,
  publish: publishStep,
  export: exportStep,
  render: renderStep,
  deliver: deliverStep,
} as const;

export type StepType = keyof typeof STEP_CATALOGUE;
export const STEP_TYPES = Object.keys(STEP_CATALOGUE) as [StepType, ...StepType[]]; // Object.keys returns plain strings.

/** Step of a plan by its type. */
export type StepOf<T extends StepType> = z.infer<(typeof STEP_CATALOGUE)[T]['schema']>;

export const Step = z.discriminatedUnion('type', [
  STEP_CATALOGUE.refresh.schema,
  STEP_CATALOGUE.checks.schema,
  STEP_CATALOGUE.run.schema,
  STEP_CATALOGUE.compare.schema,
  STEP_CATALOGUE.publish.schema,
  STEP_CATALOGUE.export.schema,
  STEP_CATALOGUE.render.schema,
  STEP_CATALOGUE.deliver.schema,
]);
export type Step = z.infer<typeof Step>;

export const findStepKind = (type: StepType): StepKind => STEP_CATALOGUE[type];
