import { Buffer } from 'node:buffer';
import { webcrypto } from 'node:crypto';
import type { ArtifactRef, ArtifactStore } from '#store/port.js';

/** Hashes bytes outside the event loop and writes them as an artifact. @throws the refusals of `ArtifactStore.write` */
export async function writeHashed(artifacts: Pick<ArtifactStore, 'write'>, bytes: Uint8Array): Promise<ArtifactRef> {
  const digest = await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return artifacts.write(bytes, Buffer.from(digest).toString('hex'));
}
