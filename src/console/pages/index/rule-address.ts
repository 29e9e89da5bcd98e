import { formatAddress } from '../../state/location.js';
import { formatIndexAddress } from '../../words/addresses.js';

/**
 * Returns the address of the rule to which a finding belongs, in the designer. Returns null if the finding is not about
 * a rule.
 */
export const findRuleAddress = (id: string, path: string): string | null =>
  path.startsWith('pipeline.') ? formatAddress(`${formatIndexAddress(id)}/edit`, { at: path }) : null;
