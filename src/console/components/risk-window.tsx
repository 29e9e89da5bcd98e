import { useSchemas } from '../state/schemas.js';
import type { Json } from '../words/paths.js';
import { formatRiskWindow } from '../words/risk-window.js';

/**
 * Renders the number of returns from which the risk model of optimised weights was estimated.
 * @param model risk model in the terms of the optimisation
 */
export function RiskWindow({ model }: { readonly model: Json | undefined }) {
  const window = formatRiskWindow(model, useSchemas().data);
  return window === null ? null : <p class="quiet">Risk is estimated from the {window}.</p>;
}
