import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineAddress, secretField, storedFields, targetFields, defineTargetKind } from '../target-kind.js';

const url = defineAddress(['s3'], ({ hostname, username }) =>
  hostname !== '' && username === '' ? undefined : 'must be s3:// and a bucket, optionally with a prefix',
);
const endpoint = defineAddress(['https', 'http'], ({ pathname, username }) =>
  pathname === '/' && username === '' ? undefined : 'must be an origin, such as https://s3.eu-central-1.amazonaws.com',
);

export const bucket = defineTargetKind({
  help: 'Bucket of an S3-compatible object store. The service uses the keys of the client on a host of `--delivery-hosts`, or the keys of the service for a bucket of `--delivery-buckets`.',
  secret: 'the secret access key of `access_key_id`',
  schema: defineObject(() => ({
    type: z.literal('bucket'),
    ...targetFields,
    url: url.meta({ description: 'Bucket and prefix.', example: 's3://acme-in/indices' }),
    region: z.string().min(1).max(64).nullable().default(null).meta({
      description: 'Region. Default: the region of the service.',
    }),
    endpoint: endpoint.nullable().default(null).meta({
      description: 'Origin of a store outside AWS. Default: the origin of the service; with a region, AWS.',
    }),
    access_key_id: z.string().min(1).max(200).nullable().default(null).meta({
      description: 'Access key of the client. Default: the keys of the service.',
    }),
    secret: secretField.meta({ description: 'Secret of the access key.' }),
    ...storedFields,
  })).meta({ id: 'BucketTarget' }),
});
