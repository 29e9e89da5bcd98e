import { homedir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import type { AwsSettings } from '#store/s3/keys/choose-source.js';
import { awsSetting } from './setting-schemas.js';

/** What programs for AWS read as well, under the same names and in the same order. */
export const AWS_SETTINGS = {
  awsKeyId: awsSetting('AWS_ACCESS_KEY_ID', 'Key of the bucket.', { isSecret: true }),
  awsSecret: awsSetting('AWS_SECRET_ACCESS_KEY', 'Secret of that key.', { isSecret: true }),
  awsSession: awsSetting('AWS_SESSION_TOKEN', 'Token of temporary keys.', { isSecret: true }),
  awsRegion: awsSetting('AWS_REGION', 'Region of the bucket; else that of the profile, or us-east-1.', {
    elsewhere: 'AWS_DEFAULT_REGION',
  }),
  awsEndpoint: awsSetting('AWS_ENDPOINT_URL_S3', 'Address of a store not of AWS.', { elsewhere: 'AWS_ENDPOINT_URL' }),
  awsTokenFile: awsSetting('AWS_WEB_IDENTITY_TOKEN_FILE', 'File with the token that AWS_ROLE_ARN is taken by.'),
  awsRole: awsSetting('AWS_ROLE_ARN', 'Role whose keys are asked for with that token.'),
  awsSessionName: awsSetting('AWS_ROLE_SESSION_NAME', 'Name of the session of that role; else divisor.'),
  awsStsEndpoint: awsSetting('AWS_ENDPOINT_URL_STS', 'Address that keys of that role are asked of, if not of AWS.', {
    elsewhere: 'AWS_ENDPOINT_URL',
  }),
  awsProfile: awsSetting('AWS_PROFILE', 'Profile with the keys and region; else default.'),
  awsCredentialsFile: awsSetting('AWS_SHARED_CREDENTIALS_FILE', 'File of profiles; else ~/.aws/credentials.'),
  awsConfigFile: awsSetting('AWS_CONFIG_FILE', 'File of profiles; else ~/.aws/config.'),
  awsContainerPath: awsSetting('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI', 'Path of the keys of a container of ECS.', {
    isSecret: true,
  }),
  awsContainerUrl: awsSetting('AWS_CONTAINER_CREDENTIALS_FULL_URI', 'URL of the keys of a pod or container.'),
  awsContainerToken: awsSetting('AWS_CONTAINER_AUTHORIZATION_TOKEN', 'Token sent to that URL.', {
    isSecret: true,
  }),
  awsContainerTokenFile: awsSetting('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', 'File with that, as it is now.'),
  awsMachineOff: awsSetting('AWS_EC2_METADATA_DISABLED', 'true: the machine is not asked for keys of its role.'),
  awsMachine: awsSetting('AWS_EC2_METADATA_SERVICE_ENDPOINT', 'Address of the metadata of the machine.'),
};

type Values = { readonly [N in keyof typeof AWS_SETTINGS]: z.output<(typeof AWS_SETTINGS)[N]['schema']> };

export function awsOf(settings: Values): AwsSettings {
  return {
    accessKeyId: settings.awsKeyId,
    secretAccessKey: settings.awsSecret,
    sessionToken: settings.awsSession,
    region: settings.awsRegion,
    endpoint: settings.awsEndpoint,
    tokenFile: settings.awsTokenFile,
    roleArn: settings.awsRole,
    sessionName: settings.awsSessionName,
    stsEndpoint: settings.awsStsEndpoint,
    profile: settings.awsProfile,
    credentialsFile: settings.awsCredentialsFile ?? join(homedir(), '.aws', 'credentials'),
    configFile: settings.awsConfigFile ?? join(homedir(), '.aws', 'config'),
    containerPath: settings.awsContainerPath,
    containerUrl: settings.awsContainerUrl,
    containerToken: settings.awsContainerToken,
    containerTokenFile: settings.awsContainerTokenFile,
    isMachineOff: settings.awsMachineOff?.toLowerCase() === 'true',
    machineEndpoint: settings.awsMachine,
  };
}
