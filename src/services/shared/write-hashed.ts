import { Buffer } from 'node:buffer';
import { webcrypto } from 'node:crypto';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';

/** Writes bytes as an artifact after hashing them off the event loop. @throws the refusals of `ArtifactStore.write` */
export async function writeHashed(artifacts: Pick<ArtifactStore, 'write'>, bytes: Uint8Array): Promise<ArtifactRef> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return artifacts.write(bytes, Buffer.from(digest).toString('hex'));
}
