import type * as Api from './api.js';
import { createEngine } from './create-engine.js';

/** Opens the engine on a market: see `api.ts`, whose types are published. */
export const openEngine: typeof Api.openEngine = createEngine;
