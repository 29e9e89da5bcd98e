/** Keys that requests to an object store are signed with. */
export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Of temporary ones. */
  readonly sessionToken?: string | undefined;
  /** Milliseconds since 1970; undefined for keys that say nothing of it. */
  readonly expiresAt?: number | undefined;
}

/** Where the keys of a bucket come from. Plain data: a thread gets it with its destination and asks for itself. */
export type KeySource = GivenKeys | AskedKeySource;

/** Keys of the environment, which stay as they are. */
export interface GivenKeys extends Keys {
  readonly kind: 'given';
}

/** Where keys are asked for that may change while a process runs. */
export type AskedKeySource =
  | {
      readonly kind: 'profile';
      readonly profile: string;
      readonly credentialsFile: string;
      readonly configFile: string;
    }
  | {
      readonly kind: 'web-identity';
      /** Holds the token of the identity, which others renew. */
      readonly tokenFile: string;
      readonly roleArn: string;
      readonly sessionName: string;
      /** Of the service that gives keys for tokens. */
      readonly endpoint: string;
    }
  | {
      readonly kind: 'container';
      readonly url: string;
      readonly token?: string | undefined;
      readonly tokenFile?: string | undefined;
    }
  | {
      readonly kind: 'machine';
      /** Of the metadata of the machine. */
      readonly endpoint: string;
    };
