import { bundlePath } from '#bundle';

await import(bundlePath('market-process-tasks') ?? './market-process-tasks.js');
