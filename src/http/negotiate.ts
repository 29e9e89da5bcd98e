import { Refusal } from '#domain/refusals/refusal.js';

interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

/**
 * Returns the offered media type with the highest quality. If several have the same quality, returns the first of them.
 * Without `Accept`, returns the first type.
 * @throws Refusal NOT_ACCEPTABLE if no type matches
 */
export function negotiate<T extends string>(accept: string | undefined, offeredTypes: readonly T[]): T {
  const acceptedType = findAccepted(accept, offeredTypes);
  if (acceptedType !== undefined) return acceptedType;
  throw new Refusal(
    'NOT_ACCEPTABLE',
    `Accept ${accept!.slice(0, 200)} does not match the available types: ${offeredTypes.join(', ')}.`,
    {
      accepted: [...offeredTypes],
    },
  );
}

/**
 * Returns the media type of a response; empty if none is offered. A response without a form in JSON is sent whatever
 * `Accept` says. @throws Refusal NOT_ACCEPTABLE
 */
export function selectMedia(accept: string | undefined, offeredTypes: readonly string[], hasJson: boolean): string {
  if (offeredTypes.length === 0) return '';
  return hasJson ? negotiate(accept, offeredTypes) : (findAccepted(accept, offeredTypes) ?? offeredTypes[0]!);
}

/** Returns the same type as `negotiate`; undefined if no type matches. */
function findAccepted<T extends string>(accept: string | undefined, offeredTypes: readonly T[]): T | undefined {
  if (accept === undefined || accept.trim() === '') return offeredTypes[0];
  const ranges = accept.split(',').map(readRange);
  const ratedTypes = offeredTypes.map((type) => ({ type, quality: computeQuality(type, ranges) }));
  const best = ratedTypes.reduce((bestSoFar, candidate) =>
    candidate.quality > bestSoFar.quality ? candidate : bestSoFar,
  );
  return best.quality > 0 ? best.type : undefined;
}

function readRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  const value = quality === undefined ? 1 : Number(quality.slice('q='.length));
  return { type, quality: Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : 0 };
}

/** Returns the quality of the range that matches most specifically; 0 if no range matches. */
function computeQuality(type: string, ranges: readonly MediaRange[]): number {
  const [kind] = type.split('/');
  for (const name of [type, `${kind}/*`, '*/*']) {
    const matchingRanges = ranges.filter((range) => range.type === name);
    if (matchingRanges.length > 0) return Math.max(...matchingRanges.map(({ quality }) => quality));
  }
  return 0;
}
