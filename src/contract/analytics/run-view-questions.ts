import type { z } from 'zod';
import type { RunViewTerms } from '#domain/run-views/terms.js';
import type { Route } from '../route.js';
import type { rollingRiskRoutes } from '../rolling-risk.js';
import type { analyticsRoutes } from './routes.js';
import type { runViewRoutes } from './run-view-routes.js';

type Routes = typeof analyticsRoutes & typeof runViewRoutes & typeof rollingRiskRoutes;

/** Routes of a table that are views of a stored run. Other routes are removed from the type. */
export type ViewRoutes<T> = {
  readonly [K in keyof T as T[K] extends { readonly view: RunViewTerms } ? K : never]: Extract<T[K], ViewRoute>;
};

export type ViewRoute = Route & { readonly view: RunViewTerms };

type Output<S> = S extends z.ZodType ? z.output<S> : object;

/** Parameters that identify the run, and parameters that are replaced by a looked-up value. */
type ResolvedParameter = 'index_id' | 'run_id' | 'benchmark';

type QuestionOf<R> = R extends ViewRoute
  ? {
      readonly view: R['view']['name'];
      readonly need: R['view']['needs'][number];
      readonly asked: Omit<Output<R['params']> & Output<R['query']>, ResolvedParameter>;
    }
  : never;

/** Question of a view route: the name of the view, the values to look up, and the parameters passed to the view. */
export type RunViewQuestion = QuestionOf<ViewRoutes<Routes>[keyof ViewRoutes<Routes>]>;
