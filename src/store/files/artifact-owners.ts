import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';

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
export function listNames(value: Buffer): readonly string[] {
  const names = new Set<string>();
  if (!value.includes(REFERENCE_MARK)) return [];
  for (let offset = value.indexOf(SUFFIX); offset >= 0; offset = value.indexOf(SUFFIX, offset + 1)) {
    const name = value.toString('latin1', Math.max(0, offset - NAME_DIGITS), offset + SUFFIX.length);
    if (isArtifactName(name)) names.add(name);
  }
  return [...names];
}

export interface ArtifactOwners {
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
