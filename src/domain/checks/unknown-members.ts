import { didYouMean } from '#base/text/nearest-name.js';
import type { Finding } from '../refusals/findings.js';
import { error, isObject } from './index-context.js';

/** Members that an object does not have: an error, where a document drops other unknown members. */
export function unknownMembers(value: unknown, accepted: readonly string[], path: string): Finding[] {
  if (!isObject(value)) return [];
  return Object.keys(value)
    .filter((name) => !accepted.includes(name))
    .map((name) => {
      const message = `${path}.${name} is not known; the accepted names are ${accepted.join(', ')}.${didYouMean(name, accepted)}`;
      return error('UNKNOWN_FIELD', `${path}.${name}`, message, { accepted: [...accepted] });
    });
}
