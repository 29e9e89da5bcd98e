import { suggestName } from '#base/text/nearest-name.js';
import type { Finding } from '../refusals/findings.js';
import { createError, isObject } from './index-context.js';

/** Reports unknown members of an object as errors, because a document would silently drop them. */
export function findUnknownMembers(value: unknown, accepted: readonly string[], path: string): Finding[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((name) => !accepted.includes(name))
    .map((name) => {
      const message = `Unknown member ${path}.${name}; the accepted names are ${accepted.join(', ')}.${suggestName(name, accepted)}`;
      return createError('UNKNOWN_FIELD', `${path}.${name}`, message, { accepted: [...accepted] });
    });
}
