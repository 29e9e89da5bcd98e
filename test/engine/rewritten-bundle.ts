import { createHash } from 'node:crypto';
import type { BundleManifest } from '#domain/definition/publication.js';
import { computeStatementHash } from '#store/history/log-check.js';
import { computeInputDigests, decodeSlice, encodeSlice } from '#views/bundle/inputs.js';
import { readTar, createTarParts } from '#views/bundle/tar.js';

type Files = ReadonlyMap<string, Uint8Array>;

/** Returns a bundle with some files replaced. */
export function addFiles(
  bundle: Uint8Array,
  change: (files: Files) => Readonly<Record<string, Uint8Array>>,
): Uint8Array {
  const files = new Map(readTar(bundle));
  for (const [name, bytes] of Object.entries(change(files))) files.set(name, bytes);
  return Buffer.concat([...createTarParts([...files].map(([name, bytes]) => ({ name, bytes })))]);
}

export function addPrice(
  bundle: Uint8Array,
  { identifier, day, by }: { readonly identifier: string; readonly day: number; readonly by: number },
): Uint8Array {
  return addFiles(bundle, (files) => {
    const market = decodeSlice({
      'market.arrow': files.get('market.arrow')!.slice(),
      'tables.json': files.get('tables.json')!,
    });
    const cell = market.dates.indexOf(day) * market.identifiers.length + market.identifiers.indexOf(identifier);
    market.fields.get('CLOSE')![cell]! *= by;
    return { 'market.arrow': encodeSlice(market)['market.arrow'] };
  });
}

/** Computes the list of hashes again for changed files. An attacker without the signing key could do the same. */
export function addHashes(bundle: Uint8Array): Uint8Array {
  return addFiles(bundle, (files) => {
    const {
      signature,
      hash: _,
      ...stated
    } = JSON.parse(new TextDecoder().decode(files.get('manifest.json'))) as BundleManifest;
    const market = decodeSlice({
      'market.arrow': files.get('market.arrow')!.slice(),
      'tables.json': files.get('tables.json')!,
    });
    const hashes = Object.keys(stated.files).map((name) => [
      name,
      createHash('sha256').update(files.get(name)!).digest('hex'),
    ]);
    const changedManifest = { ...stated, ...computeInputDigests(market), files: Object.fromEntries(hashes) };
    return {
      'manifest.json': new TextEncoder().encode(
        JSON.stringify({ ...changedManifest, hash: computeStatementHash(changedManifest), signature }),
      ),
    };
  });
}
