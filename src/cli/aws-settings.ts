import { homedir } from 'node:os';
import { join } from 'node:path';
import type { z } from 'zod';
import type { AwsSettings } from '#store/s3/keys/choose-source.js';
import { declareAwsSetting } from './setting-schemas.js';

/** Settings from the environment variables of the AWS tools. Names and precedence are the same as in these tools. */
export const AWS_SETTINGS = {
  awsKeyId: declareAwsSetting('AWS_ACCESS_KEY_ID', 'Access key of the bucket.', { isSecret: true }),
  awsSecret: declareAwsSetting('AWS_SECRET_ACCESS_KEY', 'Secret of the access key.', { isSecret: true }),
  awsSession: declareAwsSetting('AWS_SESSION_TOKEN', 'Token of temporary keys.', { isSecret: true }),
  awsRegion: declareAwsSetting('AWS_REGION', 'Region of the bucket.', {
    elsewhere: 'AWS_DEFAULT_REGION',
    otherwiseHelp: 'that of the profile, or us-east-1',
  }),
  awsEndpoint: declareAwsSetting('AWS_ENDPOINT_URL_S3', 'Endpoint of an S3-compatible store outside AWS.', {
    elsewhere: 'AWS_ENDPOINT_URL',
  }),
  awsTokenFile: declareAwsSetting('AWS_WEB_IDENTITY_TOKEN_FILE', 'File with the web identity token for AWS_ROLE_ARN.'),
  awsRole: declareAwsSetting('AWS_ROLE_ARN', 'Role that is assumed with the web identity token.'),
  awsSessionName: declareAwsSetting('AWS_ROLE_SESSION_NAME', 'Session name for the assumed role.', {
    otherwiseHelp: 'divisor',
  }),
  awsStsEndpoint: declareAwsSetting('AWS_ENDPOINT_URL_STS', 'Endpoint of STS.', {
    elsewhere: 'AWS_ENDPOINT_URL',
    otherwiseHelp: 'that of AWS',
  }),
  awsProfile: declareAwsSetting('AWS_PROFILE', 'Profile with the keys and region.', { otherwiseHelp: 'default' }),
  awsCredentialsFile: declareAwsSetting('AWS_SHARED_CREDENTIALS_FILE', 'File of credentials.', {
    otherwiseHelp: '~/.aws/credentials',
  }),
  awsConfigFile: declareAwsSetting('AWS_CONFIG_FILE', 'File of profiles.', { otherwiseHelp: '~/.aws/config' }),
  awsContainerPath: declareAwsSetting(
    'AWS_CONTAINER_CREDENTIALS_RELATIVE_URI',
    'Path of the credentials of an ECS container.',
    {
      isSecret: true,
    },
  ),
  awsContainerUrl: declareAwsSetting(
    'AWS_CONTAINER_CREDENTIALS_FULL_URI',
    'URL of the credentials of a pod or container.',
  ),
  awsContainerToken: declareAwsSetting(
    'AWS_CONTAINER_AUTHORIZATION_TOKEN',
    'Authorisation token for the URL of the credentials.',
    {
      isSecret: true,
    },
  ),
  awsContainerTokenFile: declareAwsSetting(
    'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
    'File with the authorisation token. It is read before each request.',
  ),
  awsMachineOff: declareAwsSetting(
    'AWS_EC2_METADATA_DISABLED',
    'true turns off requests for credentials to the instance metadata service.',
    { otherwiseHelp: 'false' },
  ),
  awsMachine: declareAwsSetting('AWS_EC2_METADATA_SERVICE_ENDPOINT', 'Endpoint of the instance metadata service.'),
};

type SettingValues = { readonly [N in keyof typeof AWS_SETTINGS]: z.output<(typeof AWS_SETTINGS)[N]['schema']> };

export function selectAwsSettings(settings: SettingValues): AwsSettings {
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
