import { Refusal } from '#domain/refusals/refusal.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../../start-refusal.js';
import type { KeySource } from '../../access/key-source.js';
import { readProfile, type Profile, type ProfileFiles } from './profile.js';

type OptionalText = string | undefined;

/** Settings of the AWS tools for a process; undefined if a setting is absent. */
export interface AwsSettings extends ProfileFiles {
  readonly accessKeyId: OptionalText;
  readonly secretAccessKey: OptionalText;
  readonly sessionToken: OptionalText;
  readonly region: OptionalText;
  /** Endpoint of an object store outside AWS. */
  readonly endpoint: OptionalText;
  readonly profile: OptionalText;
  readonly tokenFile: OptionalText;
  readonly roleArn: OptionalText;
  readonly sessionName: OptionalText;
  /** Endpoint of a token service outside AWS. */
  readonly stsEndpoint: OptionalText;
  readonly containerUrl: OptionalText;
  readonly containerPath: OptionalText;
  readonly containerToken: OptionalText;
  readonly containerTokenFile: OptionalText;
  readonly isMachineOff: boolean;
  readonly machineEndpoint: OptionalText;
}

/** Default region of services outside AWS. */
const DEFAULT_REGION = 'us-east-1';
/** Metadata address of an ECS container. */
const CONTAINER_ORIGIN = 'http://169.254.170.2';
/** Matches hosts that may provide keys without TLS. They are this machine, and the local ECS and EKS agents. */
const LOCAL_HOSTS = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]|169\.254\.170\.(2|23)|\[fd00:ec2::23\])$/;
const MACHINE_ORIGIN = 'http://169.254.169.254';
/** Profile members of unsupported sources of keys. */
const UNSUPPORTED_SETTINGS = [
  'sso_session',
  'sso_start_url',
  'credential_process',
  'source_profile',
  'credential_source',
];

/**
 * Returns the region and the first source of keys that is configured. The order is keys, identity token, profile,
 * container, machine. @throws StartRefusal 78 for a source that is incomplete or unusable
 */
export function chooseKeys(aws: AwsSettings): { readonly region: string; readonly keys: KeySource } {
  const profile = findProfile(aws);
  const region = aws.region ?? profile?.get('region') ?? DEFAULT_REGION;
  const keys =
    findFixedKeys(aws) ?? chooseIdentity(aws, region) ?? chooseProfile(aws, profile, region) ?? chooseContainer(aws);
  return { region, keys: keys ?? createMachineSource(aws) };
}

/** Returns the endpoint of an AWS service in a region. */
export const formatAwsOrigin = (service: string, region: string): string =>
  `https://${service}.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

function findFixedKeys({ accessKeyId, secretAccessKey, sessionToken }: AwsSettings): KeySource | undefined {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  if (accessKeyId === undefined || secretAccessKey === undefined)
    throw refuse('Artifacts in a bucket require both AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither.');
  return { kind: 'given', accessKeyId, secretAccessKey, sessionToken };
}

function chooseIdentity(
  { tokenFile, roleArn, sessionName, stsEndpoint }: AwsSettings,
  region: string,
): KeySource | undefined {
  if (tokenFile === undefined) return undefined;
  if (roleArn === undefined)
    throw refuse('AWS_WEB_IDENTITY_TOKEN_FILE requires AWS_ROLE_ARN, the role of its identity.');
  const endpoint = stsEndpoint ?? formatAwsOrigin('sts', region);
  if (!/^https?:\/\/[^?#@\s]+$/.test(endpoint) || !URL.canParse(endpoint))
    throw refuse('AWS_ENDPOINT_URL_STS must be a URL like https://sts.example.');
  return { kind: 'web-identity', tokenFile, roleArn, sessionName: sessionName ?? 'divisor', endpoint };
}

function findProfile(aws: AwsSettings): Profile | undefined {
  let profile: Profile | undefined;
  try {
    profile = readProfile(aws.profile ?? 'default', aws);
  } catch (thrown) {
    // Default files that cannot be read count as absent.
    if (aws.profile === undefined) return undefined;
    throw thrown instanceof Refusal ? refuse(thrown.message) : thrown;
  }
  if (profile === undefined && aws.profile !== undefined)
    throw refuse(
      `The profile ${aws.profile} of AWS_PROFILE is neither in ${aws.credentialsFile} nor ${aws.configFile}.`,
    );
  return profile;
}

function chooseProfile(aws: AwsSettings, values: Profile | undefined, region: string): KeySource | undefined {
  if (values === undefined) return undefined;
  const { profile = 'default', credentialsFile, configFile } = aws;
  if (values.has('aws_access_key_id')) return { kind: 'profile', profile, credentialsFile, configFile };
  const [tokenFile, roleArn] = ['web_identity_token_file', 'role_arn'].map((name) => values.get(name));
  if (tokenFile !== undefined)
    return chooseIdentity({ ...aws, tokenFile, roleArn, sessionName: values.get('role_session_name') }, region);
  const unsupportedSetting = UNSUPPORTED_SETTINGS.find((name) => values.has(name));
  if (unsupportedSetting !== undefined)
    throw refuse(
      `The profile ${profile} uses ${unsupportedSetting}, which is not supported: use keys in the profile, or its web_identity_token_file.`,
    );
  return undefined;
}

function chooseContainer(aws: AwsSettings): KeySource | undefined {
  const { containerPath: path, containerToken: token, containerTokenFile: tokenFile } = aws;
  if (path !== undefined && !/^\/[^\s]*$/.test(path))
    throw refuse('AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must be a path like /v2/credentials/id.');
  const url = path === undefined ? aws.containerUrl : `${CONTAINER_ORIGIN}${path}`;
  if (url === undefined) return undefined;
  const { protocol, hostname, username } = URL.canParse(url)
    ? new URL(url)
    : { protocol: '', hostname: '', username: '' };
  const isPermitted = protocol === 'https:' || (protocol === 'http:' && LOCAL_HOSTS.test(hostname));
  if (!isPermitted || username !== '')
    throw refuse(
      'AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https URL, or an http URL on loopback or of the ECS or EKS agent.',
    );
  return { kind: 'container', url, token, tokenFile };
}

function createMachineSource({ isMachineOff, machineEndpoint = MACHINE_ORIGIN }: AwsSettings): KeySource {
  if (isMachineOff)
    throw refuse(
      'Artifacts in a bucket require AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a role of the pod, container or machine.',
    );
  if (!/^https?:\/\/[^?#@\s]+$/.test(machineEndpoint) || !URL.canParse(machineEndpoint))
    throw refuse('AWS_EC2_METADATA_SERVICE_ENDPOINT must be a URL like http://169.254.169.254.');
  return { kind: 'machine', endpoint: machineEndpoint.replace(/\/$/, '') };
}

const refuse = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);
