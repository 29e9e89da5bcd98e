import { useSchemas } from '../state/schemas.js';
import { count } from '../words/numbers.js';
import { isObject, type Json } from '../words/paths.js';

/** Which returns the risk behind solved weights is estimated from. @param model as the terms have it */
export function RiskWindow({ model }: { readonly model: Json | undefined }) {
  const schemas = useSchemas();
  if (typeof model === 'string') return <p class="quiet">Risk of the stored model {model}.</p>;
  const sessions = isObject(model) ? model['sessions'] : undefined;
  if (typeof sessions === 'number') return <p class="quiet">Risk of the last {count(sessions)} returns.</p>;
  const told = schemas.data?.['RiskEstimator']?.properties?.['sessions']?.description;
  if (told === undefined) return null;
  const window = told.charAt(0).toLowerCase() + told.slice(1);
  return <p class="quiet">Weights as a derived index has them. Their risk is from {window}</p>;
}
