import { findBundlePath } from '#bundle';

await import(findBundlePath('market-process-tasks') ?? './market-process-tasks.js');
