import type { DatapointRequest, FunctionSpec } from '#clients/typescript/divisor.js';
import { createContext } from 'preact';

/** Context of the expressions in a form: the definition around them, and the functions of the service. */
export interface Terms {
  readonly functions: readonly FunctionSpec[];
  readonly request: Partial<Pick<DatapointRequest, 'datapoints' | 'universe' | 'calendar' | 'currency'>>;
  /** Data store of the definition; null for the served one. */
  readonly store: string | null;
}

export const FormulaTerms = createContext<Terms>({ functions: [], request: {}, store: null });
