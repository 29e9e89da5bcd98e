import { toDecodable } from '#base/bytes.js';
import type * as Api from './api.js';
import { createEngine } from './engine.js';
import type { SignatureCheck } from './verify-bundle.js';

/**
 * Verifies Ed25519 with the platform. Returns null if Ed25519 is unavailable, as on pages that were not loaded over
 * HTTPS or from this machine.
 */
export const isSignedByPlatform: SignatureCheck = async (
  { hash, signature },
  { public_key: publicKey, key_id: keyId },
) => {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle === undefined) return null;
  try {
    const raw = decodeBytes(atob(publicKey));
    const digest = new Uint8Array(await subtle.digest('SHA-256', raw));
    if (!toHex(digest).startsWith(keyId)) return false;
    const key = await subtle.importKey('raw', raw, { name: 'Ed25519' }, false, ['verify']);
    const signedBytes = Uint8Array.from(hash.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
    return await subtle.verify({ name: 'Ed25519' }, key, decodeBytes(atob(signature)), signedBytes);
  } catch (failure) {
    if (failure instanceof Error && failure.name === 'NotSupportedError') return null;
    return false;
  }
};

const decodeBytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(text, (unit) => unit.charCodeAt(0));
const toHex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Opens the engine on a market: see `api.ts`, whose types are published. */
export const openEngine: typeof Api.openEngine = createEngine;

/** Loads the Arrow reader, which only bundles need, then verifies a bundle. */
export const verifyBundle: typeof Api.verifyBundle = async (bundle, options = {}) => {
  const { verifyBundleWith } = await import('./verify-bundle.js');
  return verifyBundleWith(toDecodable(bundle), { ...options, isSigned: isSignedByPlatform });
};
