import type * as Api from './api.js';
import { createEngine } from './create-engine.js';
import { isSignedByPlatform } from './web-signature.js';

/** Opens the engine on a market: see `api.ts`, whose types are published. */
export const openEngine: typeof Api.openEngine = createEngine;

/** Loads the Arrow reader, which only bundles need, then verifies a bundle. */
export const verifyBundle: typeof Api.verifyBundle = async (bundle, options = {}) => {
  const { verifyBundleWith } = await import('./verify-bundle.js');
  return verifyBundleWith(bundle, { ...options, isSigned: isSignedByPlatform });
};
