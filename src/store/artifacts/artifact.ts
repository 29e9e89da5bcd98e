import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { Refusal } from '#domain/base/refusals.js';

/** Returns the refusal for a damaged artifact. The file is named only in its cause, for the log. */
export const refuseDamagedArtifact = (name: string, cause?: unknown): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', 'The stored bytes are missing or damaged.', null, {
    cause: new Error(`artifact ${name}`, cause === undefined ? {} : { cause }),
  });

/** Thrown if artifacts are unavailable because of a wrong setting. Retries are useless then. */
export class ArtifactStoreFault extends Refusal {
  constructor(message: string, cause?: unknown) {
    super('STORE_UNAVAILABLE', message, null, { cause });
  }
}

/** System error codes for an unavailable folder, or a file in it, on another machine. */
const UNAVAILABLE_CODES = new Set(
  'ENOENT ENOTDIR EIO ESTALE ENOTCONN ENODEV ENXIO EHOSTDOWN EHOSTUNREACH ENETUNREACH ETIMEDOUT EACCES EPERM EROFS'.split(
    ' ',
  ),
);

/** Returns true if a failure means that a folder is unavailable. */
export function isUnavailable(thrown: unknown): boolean {
  if (thrown instanceof Refusal) return thrown.code === 'STORE_UNAVAILABLE';
  return UNAVAILABLE_CODES.has(findCode(thrown) ?? '');
}

/** Returns undefined for an error about an absent file. @throws any other error */
export function ignoreAbsentFile(thrown: unknown): undefined {
  if (findCode(thrown) !== 'ENOENT') throw thrown;
}

export const findCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && 'code' in thrown ? String(thrown.code) : undefined;

/**
 * Creates the file name of an artifact. Its 128 random bits make it permanently unique. No other text in a document has
 * this form, so that references to artifacts are found without the schemas of documents.
 */
export function createArtifactName(): string {
  return `${randomBytes(16).toString('hex')}.art`;
}

const ARTIFACT_NAME = /^[0-9a-f]{32}\.art$/;

/** Subfolder of a shared artifact folder for orphaned results. */
export const TRASH = 'trash';

/** Returns true if a file name has the form of an artifact name. All other files belong to other programs. */
export const isArtifactName = (name: string): boolean => ARTIFACT_NAME.test(name);

const SUFFIX = Buffer.from('.art');
const REFERENCE_MARK = Buffer.from('.art"');
const NAME_DIGITS = 32;

/** Returns the artifact names in a stored value. The value may be unreadable. @cost one scan of the bytes */
export function listArtifactNames(value: Buffer): readonly string[] {
  const names = new Set<string>();
  if (!value.includes(REFERENCE_MARK)) return [];
  for (let offset = value.indexOf(SUFFIX); offset >= 0; offset = value.indexOf(SUFFIX, offset + 1)) {
    const name = value.toString('latin1', Math.max(0, offset - NAME_DIGITS), offset + SUFFIX.length);
    if (isArtifactName(name)) names.add(name);
  }
  return [...names];
}

interface ArtifactOwners {
  /**
   * Sets the artifacts that a document refers to. Returns the names that this document no longer refers to. Other
   * documents may still refer to them.
   */
  setArtifacts(key: string, names: readonly string[]): readonly string[];
  isOwned(name: string): boolean;
  names(): ReadonlySet<string>;
}

/**
 * Creates a map from artifacts to the documents that refer to them. An artifact is kept as long as at least one
 * document refers to it.
 */
export function createArtifactOwners(): ArtifactOwners {
  const namesByKey = new Map<string, readonly string[]>();
  const ownersByName = new Map<string, number>();
  return {
    setArtifacts(key, names) {
      const previousNames = namesByKey.get(key) ?? [];
      for (const name of names) ownersByName.set(name, (ownersByName.get(name) ?? 0) + 1);
      for (const name of previousNames) {
        const remainingOwners = (ownersByName.get(name) ?? 0) - 1;
        if (remainingOwners > 0) ownersByName.set(name, remainingOwners);
        else ownersByName.delete(name);
      }
      if (names.length > 0) namesByKey.set(key, names);
      else namesByKey.delete(key);
      return previousNames.filter((name) => !names.includes(name));
    },
    isOwned: (name) => ownersByName.has(name),
    names: () => new Set(ownersByName.keys()),
  };
}
