import type { DatapointRequest, FunctionSpec } from '#clients/typescript/divisor.js';
import { createContext } from 'preact';

/** Context of the formulas in a form: the definition around them, and the functions that the service supports. */
export interface Terms {
  readonly functions: readonly FunctionSpec[];
  readonly request: Partial<Pick<DatapointRequest, 'datapoints' | 'universe' | 'calendar' | 'currency'>>;
  /** Store of the definition; null for the served store. */
  readonly store: string | null;
}

export const FormulaTerms = createContext<Terms>({ functions: [], request: {}, store: null });
