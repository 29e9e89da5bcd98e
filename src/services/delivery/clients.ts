import { isIdWithin } from '#domain/definition/reach.js';
import type { Authorship } from '#domain/definition/versions.js';
import {
  type ClientBody,
  ClientDocument,
  ClientSecrets,
  findSecretOwner,
  readSigningSecrets,
  readSecret,
  removeSecrets,
  type DeliveryTarget,
  TARGET_CATALOGUE,
} from '#domain/definition/delivery.js';
import { EXPORT_NAMES } from '#domain/outputs/exports.js';
import type { Finding } from '#domain/base/findings.js';
import { refuseWithFindings } from '#domain/base/refusals.js';
import { readLastVersion } from '#store/history/history.js';
import { findCurrentReach } from '#store/reach.js';
import { type DocumentReader, parseStored } from '#store/port.js';
import { outside } from '../keys/access.js';
import { findIndex } from '../indices/documents.js';
import type { Context } from '../shared/context.js';
import {
  assertPrecondition,
  openStoredFamily,
  type StoredEntry,
  type PageQuery,
  type Precondition,
  type StoredPage,
} from '../shared/documents.js';
import type { DeliveryDestinations } from './targets.js';

export interface StoredClient {
  readonly client: ClientDocument & {
    readonly client_id: string;
    readonly updated_at: string;
    readonly secrets: string[];
    /** Reasons why the client is disabled although it is stored as enabled. */
    readonly problems: string[];
  };
  readonly etag: string;
}

export interface ClientRecord {
  readonly id: string;
  readonly document: ClientDocument;
  readonly version: number | null;
  /** Reason why the client receives nothing: one of its targets is not permitted. */
  readonly problem?: string | undefined;
  /** Returns the secret of a target; undefined if none is stored. @throws Refusal DOCUMENT_UNREADABLE */
  findSecret(target: DeliveryTarget): string | undefined;
}

export interface ClientReader {
  ids(): Promise<readonly string[]>;
  /** Returns a client. Returns undefined if it was deleted or is unreadable. */
  find(id: string): Promise<ClientRecord | undefined>;
}

/** Receivers of files, with their entitlements and targets. */
export interface Clients extends ClientReader {
  /** Lists clients. With `index_id`, lists only clients that may receive files of this index, whatever the date. */
  page(query: PageQuery & ClientFilter): Promise<StoredPage<StoredClient['client']>>;
  /** Returns a client. @throws Refusal CLIENT_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredClient>;
  /**
   * Writes a client. If the request has no secret for a target and the address of the target is unchanged, the stored
   * secret remains. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED
   */
  put(id: string, body: ClientBody, ifMatch: Precondition | undefined, by?: Authorship): Promise<StoredClient>;
  /** Lists the reasons why enabled clients, as stored, are disabled. */
  listProblems(): Promise<readonly { readonly client_id: string; readonly problems: readonly string[] }[]>;
  /** Deletes a client. @throws Refusal CLIENT_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

export interface ClientFilter {
  readonly index_id?: string | undefined;
}

const SIGNING_SECRET_FORM = 'whsec_ and 24 to 64 bytes in base64, or two such secrets separated by a comma';

/** Returns the bytes of a signing secret as text. Secrets with different paddings or unused bits can have the same bytes. */
const readKey = (secret: string): string => Buffer.from(secret.slice('whsec_'.length), 'base64').toString('base64');

type Secrets = ClientSecrets['secrets'];

/** @param jobSecrets secrets that sign callbacks of jobs; no target may have one of them */
export function createClients(
  { documents, secrets }: Context,
  destinations: Pick<DeliveryDestinations, 'findProblem'>,
  jobSecrets: readonly string[],
): Clients {
  const family = openStoredFamily(documents, {
    kind: 'client',
    word: 'client',
    read: (body) => ClientDocument.safeParse(body).data,
  });

  const get = async (id: string): Promise<StoredClient> => show(id, await family.get(id));

  async function show(id: string, { document, etag, updatedAt }: StoredEntry<ClientDocument>): Promise<StoredClient> {
    const storedSecrets = await readSecrets(documents, id);
    const storedTargets = document.targets
      .filter((target) => findStoredSecret(storedSecrets, target) !== undefined)
      .map(({ name }) => name);
    const problems = findProblems(document);
    const enabled = document.enabled && problems.length === 0;
    const client = { client_id: id, ...document, enabled, updated_at: updatedAt, secrets: storedTargets, problems };
    return { client, etag };
  }

  /**
   * Checks the targets of a stored client. The settings, or the rules of a release, may have changed since it was
   * stored; a client with a target that they refuse is disabled.
   */
  const findProblems = ({ targets }: ClientDocument): string[] =>
    targets.flatMap((target) => {
      const problem = destinations.findProblem(target);
      return problem === undefined ? [] : [`${target.name}: ${problem}`];
    });

  /**
   * Returns the secrets to store with a client. These are the secrets in the request, and the stored secrets of targets
   * with an unchanged address.
   */
  function listNextSecrets(body: ClientBody, storedSecrets: Secrets): Secrets {
    return Object.fromEntries(
      body.targets.flatMap((target) => {
        const sentSecret = readSecret(target);
        const owner = findSecretOwner(target);
        const next =
          sentSecret === null ? findStoredSecret(storedSecrets, target) : { owner, sealed: secrets.seal(sentSecret) };
        return next === undefined ? [] : [[target.name, next]];
      }),
    );
  }

  async function validateBody(body: ClientBody, next: Secrets): Promise<Finding[]> {
    const findings: Finding[] = [];
    const reportError = (code: Finding['code'], path: string, message: string, value?: unknown): void =>
      void findings.push({ severity: 'error', code, path, message, ...(value !== undefined && { value }) });
    for (const [e, { indices, starts_on: start, ends_on: endsOn }] of body.entitlements.entries()) {
      if (start !== null && endsOn !== null && endsOn < start)
        reportError('INVALID_RANGE', `entitlements[${e}].ends_on`, 'ends_on must not be before starts_on.', endsOn);
      for (const [i, id] of (indices ?? []).entries())
        if ((await findIndex(documents, id)) === undefined)
          reportError(
            'UNKNOWN_INDEX',
            `entitlements[${e}].indices[${i}]`,
            `No index is stored under the id ${id}.`,
            id,
          );
    }
    for (const [path, table] of listUnknownTables(body))
      reportError('NOT_IN_CHOICES', path, `${path} is "${table}"; the accepted set is ${TABLES.join(', ')}.`, table);
    for (const [t, target] of body.targets.entries()) {
      const path = `targets[${t}]`;
      if (body.targets.findIndex(({ name }) => name === target.name) < t)
        reportError('DUPLICATE_ID', `${path}.name`, `${target.name} is the name of another target.`, target.name);
      const problem = destinations.findProblem(target);
      if (problem !== undefined) {
        const [field, value] = findPlace(target);
        reportError('TARGET_NOT_ALLOWED', `${path}.${field}`, problem, value);
      }
      if (needsSecret(target) && next[target.name] === undefined)
        reportError(
          'REQUIRED',
          `${path}.secret`,
          `The target needs a secret: ${TARGET_CATALOGUE[target.type].secret}.`,
        );
    }
    return findings;
  }

  /** Reports signing secrets without the required form, and those of another target or of the callbacks of jobs. */
  async function validateSigningSecrets(id: string, body: ClientBody, next: Secrets): Promise<Finding[]> {
    const { documents: stored } = await documents.list(
      'client-secrets',
      (value) => ClientSecrets.safeParse(value).data,
    );
    /** Owners of signing secrets. Other clients are not named, because the key may not read them. */
    const owners = new Map<string, string>();
    for (const { client_id: other, secrets: others } of stored)
      for (const { sealed } of other === id ? [] : Object.values(others))
        for (const secret of openSigningSecrets(sealed)) owners.set(secret, 'a target of another client');
    for (const secret of jobSecrets) owners.set(readKey(secret), 'the callbacks of jobs');
    return body.targets.flatMap((target, t): Finding[] => {
      const path = `targets[${t}].secret`;
      const sealed = target.type === 'callback' ? next[target.name]?.sealed : undefined;
      if (sealed === undefined) return [];
      const signingSecrets = openSigningSecrets(sealed);
      if (readSecret(target) !== null && signingSecrets.length === 0)
        return [{ severity: 'error', code: 'WRONG_TYPE', path, message: `${path} must be ${SIGNING_SECRET_FORM}.` }];
      const owner = signingSecrets.map((secret) => owners.get(secret)).find((name) => name !== undefined);
      for (const secret of signingSecrets) owners.set(secret, target.name);
      if (owner === undefined) return [];
      const message = `${path} is the secret of ${owner}; each target needs a separate secret.`;
      return [{ severity: 'error', code: 'NOT_IN_CHOICES', path, message }];
    });
  }

  /** Returns the keys of the signing secrets of a stored text. Returns none if it is another secret or cannot be opened. */
  function openSigningSecrets(sealed: string): readonly string[] {
    try {
      return readSigningSecrets(secrets.open(sealed)).map(readKey);
    } catch {
      return [];
    }
  }

  return {
    get,
    ids: () => documents.ids('client'),
    async page({ index_id: indexId, ...query }) {
      const page = await family.page(query, async (id, entry) => (await show(id, entry)).client);
      if (indexId === undefined) return page;
      const isFor = ({ entitlements }: ClientDocument): boolean =>
        entitlements.some(({ indices }) => indices === null || indices.includes(indexId));
      return { ...page, items: page.items.filter(isFor) };
    },
    async put(id, body, ifMatch, authorship) {
      assertOwnClient(body);
      const nextSecrets = listNextSecrets(body, await readSecrets(documents, id));
      const findings = [
        ...(await validateBody(body, nextSecrets)),
        ...(await validateSigningSecrets(id, body, nextSecrets)),
      ];
      if (findings.length > 0) throw refuseWithFindings('client', findings);
      await documents.transaction(
        async (tx) => {
          await assertPrecondition(tx, 'client', id, ifMatch);
          const next = listNextSecrets(body, await readSecrets(tx, id));
          await tx.put('client', id, removeSecrets(body));
          await tx.put('client-secrets', id, { client_id: id, secrets: next } satisfies ClientSecrets);
        },
        { by: authorship },
      );
      return get(id);
    },
    async listProblems() {
      const { documents: enabled } = await documents.list('client', (body, id) => {
        const document = ClientDocument.safeParse(body).data;
        return document?.enabled === true ? { client_id: id, problems: findProblems(document) } : undefined;
      });
      return enabled.filter(({ problems }) => problems.length > 0);
    },
    async remove(id, ifMatch, authorship) {
      await family.get(id).catch(() => {}); // an unreadable client can be deleted
      await documents.transaction(async (tx) => void (await tx.delete('client-secrets', id)));
      await family.remove(id, ifMatch, authorship);
    },
    async find(id) {
      const storedDocument = await documents.get('client', id);
      const document = parseStored(storedDocument, ClientDocument);
      if (document === undefined) return undefined;
      const storedSecrets = await readSecrets(documents, id);
      const version = await readLastVersion(documents, { kind: 'client', id });
      return {
        id,
        document,
        version: version === 0 ? null : version,
        problem: findProblems(document)[0],
        findSecret(target) {
          const result = findStoredSecret(storedSecrets, target);
          return result && secrets.open(result.sealed);
        },
      };
    },
  };
}

/** Returns the field that decides where the files of a target go, and its value. */
function findPlace(target: DeliveryTarget): readonly [field: string, value: unknown] {
  if (target.type === 'mail') return ['to', target.to];
  if (target.type === 'bucket' && target.endpoint !== null) return ['endpoint', target.endpoint];
  if (target.type === 'bucket' && target.access_key_id !== null && target.region !== null)
    return ['region', target.region];
  return ['url', target.url];
}

const needsSecret = (target: DeliveryTarget): boolean =>
  target.type === 'sftp' || target.type === 'callback' || (target.type === 'bucket' && target.access_key_id !== null);

async function readSecrets(reader: Pick<DocumentReader, 'get'>, id: string): Promise<Secrets> {
  const storedDocument = await reader.get('client-secrets', id);
  return parseStored(storedDocument, ClientSecrets)?.secrets ?? {};
}

/**
 * Returns the stored secret of a target. A secret that was stored for another address is not returned, so that it is
 * never sent to a wrong address.
 */
const findStoredSecret = (storedSecrets: Secrets, target: DeliveryTarget): Secrets[string] | undefined =>
  storedSecrets[target.name]?.owner === findSecretOwner(target) ? storedSecrets[target.name] : undefined;

/** Tables that files may contain: those of exports, and rendered reports. */
const TABLES: readonly string[] = [...EXPORT_NAMES, 'report'];

/** Returns the tables that no file contains, with their paths. */
function listUnknownTables({ entitlements, targets }: ClientBody): readonly (readonly [string, string])[] {
  const listUnknown = (tables: readonly string[] | null, path: string): [string, string][] =>
    (tables ?? []).flatMap((table, k) => (TABLES.includes(table) ? [] : [[`${path}.tables[${k}]`, table]]));
  return [
    ...entitlements.flatMap(({ tables }, e) => listUnknown(tables, `entitlements[${e}]`)),
    ...targets.flatMap(({ tables }, t) => listUnknown(tables, `targets[${t}]`)),
  ];
}

/**
 * Refuses indices that the client's key may not use. A key with prefixes must list indices with these prefixes. @throws
 * Refusal FORBIDDEN_ID
 */
function assertOwnClient({ entitlements }: ClientBody): void {
  const reach = findCurrentReach();
  if (reach === undefined) return;
  for (const { indices } of entitlements)
    for (const id of indices ?? ['*']) if (!isIdWithin(reach, id)) throw outside(reach, 'index', id);
}
