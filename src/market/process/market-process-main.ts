import { bundled } from '#bundle';

await import(bundled('market-process-tasks') ?? './market-process-tasks.js');
