import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';

/**
 * An artifact's file name: 128 random bits, so it is unique for ever, and a shape that no other text of a document has,
 * so the owners of artifacts are found without knowing the shapes of documents.
 */
export function newArtifactName(): string {
  return `${randomBytes(16).toString('hex')}.art`;
}

const WHOLE_NAME = /^[0-9a-f]{32}\.art$/;

/** Folder of a shared place with results that no document names any more. */
export const TRASH = 'trash';

/** Whether something in a place for artifacts can be one: all else there is somebody else's. */
export const isArtifactName = (name: string): boolean => WHOLE_NAME.test(name);

const SUFFIX = Buffer.from('.art');
const MARK = Buffer.from('.art"');
const DIGITS = 32;

/** Artifact names in a stored value, whether or not the value can be read. @cost one scan of the bytes */
export function namesIn(value: Buffer): readonly string[] {
  const names = new Set<string>();
  if (!value.includes(MARK)) return [];
  for (let at = value.indexOf(SUFFIX); at >= 0; at = value.indexOf(SUFFIX, at + 1)) {
    const name = value.toString('latin1', Math.max(0, at - DIGITS), at + SUFFIX.length);
    if (isArtifactName(name)) names.add(name);
  }
  return [...names];
}

export interface ArtifactOwners {
  /** Says what a document refers to from now on; returns the names it refers to no longer. */
  own(key: string, names: readonly string[]): readonly string[];
  isOwned(name: string): boolean;
  names(): ReadonlySet<string>;
}

/** Which documents refer to which artifacts: an artifact lives as long as one does. */
export function artifactOwners(): ArtifactOwners {
  const namesByKey = new Map<string, readonly string[]>();
  const ownersByName = new Map<string, number>();
  return {
    own(key, names) {
      const before = namesByKey.get(key) ?? [];
      for (const name of names) ownersByName.set(name, (ownersByName.get(name) ?? 0) + 1);
      for (const name of before) {
        const left = (ownersByName.get(name) ?? 0) - 1;
        if (left > 0) ownersByName.set(name, left);
        else ownersByName.delete(name);
      }
      if (names.length > 0) namesByKey.set(key, names);
      else namesByKey.delete(key);
      return before.filter((name) => !names.includes(name));
    },
    isOwned: (name) => ownersByName.has(name),
    names: () => new Set(ownersByName.keys()),
  };
}
