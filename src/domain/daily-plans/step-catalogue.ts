import { z } from 'zod';
import type { StepKind } from './step-kind.js';
import { checks } from './steps/checks.js';
import { compare } from './steps/compare.js';
import { deliver } from './steps/deliver.js';
import { exportFiles } from './steps/export.js';
import { publish } from './steps/publish.js';
import { refresh } from './steps/refresh.js';
import { render } from './steps/render.js';
import { run } from './steps/run.js';

/** All kinds of steps. Compilation fails for a kind without a performer (`src/services/daily-plans/performers.ts`). */
export const STEP_CATALOGUE = { refresh, checks, run, compare, publish, export: exportFiles, render, deliver } as const;

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
