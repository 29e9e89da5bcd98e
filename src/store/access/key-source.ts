/** Keys that sign requests to an object store. */
export interface Keys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Session token of temporary keys. */
  readonly sessionToken?: string | undefined;
  /** Expiry in milliseconds since 1970; undefined if it is unknown. */
  readonly expiresAt?: number | undefined;
}

/**
 * Source of the keys of a bucket, as plain data. A thread receives it together with its destination and obtains the
 * keys itself.
 */
export type KeySource = FixedKeys | QueriedKeySource;

/** Fixed keys from the environment. */
export interface FixedKeys extends Keys {
  readonly kind: 'given';
}

/** Sources that are queried for keys; the keys may change while a process runs. */
export type QueriedKeySource =
  | {
      readonly kind: 'profile';
      readonly profile: string;
      readonly credentialsFile: string;
      readonly configFile: string;
    }
  | {
      readonly kind: 'web-identity';
      /** File with the identity token, which an external program renews. */
      readonly tokenFile: string;
      readonly roleArn: string;
      readonly sessionName: string;
      /** Endpoint of the token service. */
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
      /** Endpoint of the instance metadata service. */
      readonly endpoint: string;
    };
