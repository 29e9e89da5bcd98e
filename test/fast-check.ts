export * as fc from './draws.js';
