import { fileURLToPath } from 'node:url';
import { trimTrailingSlashes } from '#base/addresses.js';
import { parseBucketAddress } from '#domain/definition/target-addresses.js';
import { type AwsSettings, chooseKeys, formatAwsOrigin } from '../s3/keys.js';
import type { S3Access } from '../port.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/** Location of an artifact store that several machines share. */
export type ArtifactLocation =
  | { readonly kind: 'folder'; readonly folder: string }
  | {
      readonly kind: 's3';
      readonly access: S3Access;
      /** Local cache of objects. Processes of a machine may share it. */
      readonly cache: { readonly folder: string; readonly bytesMax: number };
    };

interface ArtifactSettings {
  /** `file:///folder` or `s3://bucket/prefix`. */
  readonly url: string;
  readonly cache: { readonly folder: string; readonly bytesMax: number };
  readonly aws: AwsSettings;
}

/**
 * Parses the location. @throws StartRefusal 78 if the URL is invalid, credentials of a bucket are missing or its
 * endpoint is not a URL
 */
export function parseArtifactLocation({ url, cache, aws }: ArtifactSettings): ArtifactLocation {
  if (/^file:\/\/\/[^?#]/.test(url)) return { kind: 'folder', folder: fileURLToPath(url) };
  const [, bucket] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/[\w!.*'()/-]*)?$/.exec(url) ?? [];
  if (bucket === undefined)
    throw refuse(
      'The results storage (--artifacts, DIVISOR_ARTIFACTS) must be a URL like file:///mnt/shared or s3://bucket/prefix, with a bucket name of 3 to 63 lower-case letters, digits, dots and dashes.',
    );
  const { region, keys } = chooseKeys(aws);
  const endpoint = trimTrailingSlashes(aws.endpoint ?? formatAwsOrigin('s3', region));
  if (!/^https?:\/\/[^?#@\s]+$/.test(endpoint) || !URL.canParse(endpoint))
    throw refuse('AWS_ENDPOINT_URL_S3 must be a URL like https://objects.example:9000.');
  const address = parseBucketAddress(url);
  if (address.problem !== undefined)
    throw refuse(`The results storage (--artifacts, DIVISOR_ARTIFACTS) ${address.problem}.`);
  return {
    kind: 's3',
    access: {
      endpoint,
      region,
      bucket,
      prefix: address.folders.map((folder) => `${folder}/`).join(''),
      keys,
    },
    cache,
  };
}

const refuse = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);

export function describeLocation(place: ArtifactLocation): string {
  return place.kind === 'folder'
    ? `file://${place.folder}`
    : `s3://${place.access.bucket}/${place.access.prefix} at ${place.access.endpoint}`;
}

/** Returns the subject of a sentence about a location. It includes the setting that specifies the location. */
export const formatLocationSubject = (place: ArtifactLocation): string =>
  `The results storage, --artifacts ${describeLocation(place)},`;
