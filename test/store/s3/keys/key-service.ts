import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** A service that issues keys as AWS documents it. It refuses requests that are not signed with the latest keys. */
export interface KeyService {
  readonly origin: string;
  /** Requests for keys: method, path and authorisation header. */
  readonly asked: string[];
  /** Requests for objects: key id and session token. */
  readonly signed: string[];
  /** Lifetime of issued keys in ms. If it is negative, the keys have already expired. */
  lifeMs: number;
  refusal: readonly [status: number, code: string] | undefined;
  /** True while requests for keys receive no response. */
  isSilent: boolean;
  /** Error code with which the next request for an object is refused. */
  objectRefusal: string | undefined;
  stop(): Promise<void>;
}

const ROLE = '/latest/meta-data/iam/security-credentials/';
export const IDENTITY_TOKEN = 'eyJhbGciOiJSUzI1NiJ9.of-the-pod.signature';

export async function startKeyService(): Promise<KeyService> {
  let givenCount = 0;
  const [asked, signed]: [string[], string[]] = [[], []];
  const state: Pick<KeyService, 'lifeMs' | 'refusal' | 'isSilent' | 'objectRefusal'> = {
    lifeMs: 3_600_000,
    refusal: undefined,
    isSilent: false,
    objectRefusal: undefined,
  };
  const formatExpiration = (): string => `${new Date(Date.now() + state.lifeMs).toISOString().slice(0, 19)}Z`;

  /** @returns status and text of the response */
  async function answer(incoming: IncomingMessage): Promise<readonly [number, string]> {
    const { method, url, headers } = incoming;
    const sentText = await text(incoming);
    if (url!.startsWith('/bucket/')) return createObject(headers);
    const token = headers['x-aws-ec2-metadata-token'] ?? headers.authorization ?? '';
    asked.push(`${method} ${url} ${sentText || String(token)}`.trim());
    if (state.isSilent) return new Promise(() => {});
    if (method === 'POST')
      return state.refusal === undefined
        ? [200, formatAssumedRole(++givenCount)]
        : [state.refusal[0], formatStsError()];
    if (state.refusal !== undefined)
      return [state.refusal[0], JSON.stringify({ code: state.refusal[1], message: 'secret' })];
    if (method === 'PUT') return [200, 'AQAEAN-token-of-the-machine=='];
    if (url === ROLE) return [200, 'divisor-role'];
    return [200, JSON.stringify(createMembers(++givenCount, url!.startsWith(ROLE)))];
  }

  function createObject(headers: IncomingMessage['headers']): readonly [number, string] {
    const key = /Credential=([^/]+)\//.exec(headers.authorization ?? '')?.[1];
    signed.push(`${key} ${headers['x-amz-security-token'] ?? 'no token'}`);
    const code = state.objectRefusal;
    state.objectRefusal = undefined;
    return code === undefined ? [200, 'content'] : [400, `<Error><Code>${code}</Code></Error>`];
  }

  const createMembers = (n: number, isMachine: boolean) => ({
    ...(isMachine
      ? { Code: 'Success', LastUpdated: '2026-11-22T10:00:00Z', Type: 'AWS-HMAC' }
      : { RoleArn: 'arn:aws:iam::111122223333:role/divisor' }),
    AccessKeyId: `ASIA${n}`,
    SecretAccessKey: `secret/${n}+=`,
    Token: `session-${n}`,
    Expiration: formatExpiration(),
  });

  const formatAssumedRole = (n: number): string =>
    `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <AssumeRoleWithWebIdentityResult>
    <SubjectFromWebIdentityToken>system:serviceaccount:default:divisor</SubjectFromWebIdentityToken>
    <Audience>sts.amazonaws.com</Audience>
    <AssumedRoleUser>
      <Arn>arn:aws:sts::111122223333:assumed-role/divisor/divisor</Arn>
      <AssumedRoleId>AROACLKWSDQRAOEXAMPLE:divisor</AssumedRoleId>
    </AssumedRoleUser>
    <Credentials>
      <SessionToken>session-${n}</SessionToken>
      <SecretAccessKey>secret/${n}+=</SecretAccessKey>
      <Expiration>${formatExpiration()}</Expiration>
      <AccessKeyId>ASIA${n}</AccessKeyId>
    </Credentials>
    <Provider>arn:aws:iam::111122223333:oidc-provider/oidc.eks.us-east-1.amazonaws.com/id/1</Provider>
  </AssumeRoleWithWebIdentityResult>
  <ResponseMetadata><RequestId>ad4156e9-bce1-11e2-82e6-6b6efEXAMPLE</RequestId></ResponseMetadata>
</AssumeRoleWithWebIdentityResponse>`;

  const formatStsError = (): string =>
    `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
  <Error><Type>Sender</Type><Code>${state.refusal![1]}</Code><Message>of ${IDENTITY_TOKEN}</Message></Error>
  <RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId>
</ErrorResponse>`;

  const server = createServer((incoming, outgoing) => {
    void answer(incoming).then(([status, body]) => outgoing.writeHead(status).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(state, {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    signed,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
